"""Widgets of the app: each paints values that it is given and knows no source and no file."""
