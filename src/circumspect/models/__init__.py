"""Language models behind one port: `open_model("openai:gpt-4o")` in, a `circumspect.ports.Model` out.

Read `opening.py` first (how a name becomes a model), then `providers.py` (one call to a real provider), then
`translate.py` (our words to the wire and back). The one choice that may surprise: nothing here imports pydantic-ai or
a provider's SDK until a provider's model is really opened, because that import takes seconds and `audit`,
`policy check` and `--help` must not pay for it.
"""

from circumspect.models.fallback import close_model
from circumspect.models.opening import open_model
from circumspect.models.provider_settings import ProviderSettings
from circumspect.models.scripted import ScriptedModel, calls, says
from circumspect.models.traits import ModelTraits

__all__ = ["ModelTraits", "ProviderSettings", "ScriptedModel", "calls", "close_model", "open_model", "says"]
