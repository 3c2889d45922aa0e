"""Quick look: profiles any table."""

from flows.recipe_flow import standard_flow

quick_look = standard_flow("quick-look")
