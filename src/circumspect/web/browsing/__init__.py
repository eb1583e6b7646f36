"""Acting on web pages: a page and a task in, one verified action after the other out."""

from circumspect.web.browsing.interaction import Asked, Interaction, interact, setup_for_pages

__all__ = ["Asked", "Interaction", "interact", "setup_for_pages"]
