"""What cells run: recipes, how their cells depend on each other, and the kit that cells import.

This package is in two environments: `recipes.kit` and this file are published into the sandbox's own, so nothing is
imported here. In ours, `recipes.catalog` finds recipes and `recipes.recipe` says what one is.
"""
