"""A model's name in, a `Model` out. Also a list of them: then each is asked when the one before it could not answer.

The one choice that may surprise: without a name and without `CIRCUMSPECT_MODEL`, the offline demo model answers. A key
that happens to be in the environment does not by itself make anyone's conversations leave the machine.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Mapping, Sequence

from circumspect.errors import ConfigError
from circumspect.models.fallback import FallbackModel
from circumspect.models.provider_settings import ProviderSettings
from circumspect.models.spec import parse, split_chain
from circumspect.ports import Model

OFFLINE = "offline"
VARIABLE = "CIRCUMSPECT_MODEL"
BUILT_IN: Mapping[str, str] = {OFFLINE: "circumspect.demo.offline:OfflineModel"}
"""Models that need no provider, by name, and where each is found: loaded when asked for, so the core knows no wing."""


def open_model(
    spec: str | Model | Sequence[str | Model] | None = None, *, settings: ProviderSettings | None = None
) -> Model:
    """The model of that name; a model that is one already is returned as it is.

    Raises `ConfigError`, which says what to do, for a name that is not understood, a missing key or a missing package.
    """
    settings = settings or ProviderSettings()
    if spec is None:
        spec = os.environ.get(VARIABLE, "").strip() or OFFLINE
    if isinstance(spec, str):
        parts: Sequence[str | Model] = split_chain(spec)
    else:
        parts = spec if isinstance(spec, Sequence) else (spec,)
    if not parts:
        raise ConfigError("No model is named.", fix="Name one, for example openai:gpt-4o, or use offline.")
    if len(parts) > 1 and (settings.base_url or settings.api_key):
        raise ConfigError(
            "One address or key cannot serve several models.",
            fix="Write each as provider:model@URL;key=ENVIRONMENT_VARIABLE.",
        )
    models = tuple(_open(part, settings) for part in parts)
    return models[0] if len(models) == 1 else FallbackModel(models)


def _open(part: str | Model, settings: ProviderSettings) -> Model:
    if not isinstance(part, str):
        return part
    if part in BUILT_IN:
        model: Model = pkgutil.resolve_name(BUILT_IN[part])()
        return model
    spec = parse(part)
    try:
        from circumspect.models.connection import connect

        return connect(spec, settings)
    except ImportError as missing:
        raise ConfigError(
            f"{spec.name} needs a package that is not installed ({missing.name or 'an SDK'}).",
            fix="Run: pip install 'circumspect[agent]'",
        ) from None
