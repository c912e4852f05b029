"""Screens of the app: each joins widgets to a tape or a list and turns keys into what is meant."""
