"""Models: everything that can answer a request. Each module imports its own library, lazily."""
