"""Guardians: is this message about something harmful? A model, a moderation service, or rules that need neither."""

from circumspect.guardian.opening import open_guardian
from circumspect.guardian.port import CATEGORIES, Guardian, GuardianUnavailable, HarmCategory, Screening
from circumspect.guardian.rule_guardian import RuleGuardian
from circumspect.guardian.together import Together

__all__ = [
    "CATEGORIES",
    "Guardian",
    "GuardianUnavailable",
    "HarmCategory",
    "RuleGuardian",
    "Screening",
    "Together",
    "open_guardian",
]
