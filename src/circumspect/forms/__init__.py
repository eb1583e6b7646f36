"""Forms that a model fills in: how they are made (`making`), and how what comes back is read (`reading`).

    text ─▶ answers (the objects in it) ─▶ reading (keys matched) ─▶ fitting (each value as its field wants it)

Models write forms untidily, and most of it leaves no doubt. Whatever was mended is said, one line each, so that it can
be written down; what can be taken in two ways is left out, and whoever reads the form goes on without it.
"""

from circumspect.forms.making import make_choice, make_form, make_list, make_share, make_text

__all__ = ["make_choice", "make_form", "make_list", "make_share", "make_text"]
