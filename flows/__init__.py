"""Recipes as Prefect flows: one frame for all, and a short module for each standard recipe."""
