"""Acting on web pages: a page and a task in, one verified action after the other out."""

from circumspect.web.browsing.interaction import Interaction, PageRequest, interact, setup_for_pages

__all__ = ["Interaction", "PageRequest", "interact", "setup_for_pages"]
