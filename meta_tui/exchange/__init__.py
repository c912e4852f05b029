"""Importers and exporters: other people's recordings in, pages to share out."""
