"""Which resolver decides for which settings."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.fold.config import AutobiographicalConfig
from playhead.fold.resolvers.flat_profile import FlatProfile
from playhead.fold.resolvers.highest import Highest
from playhead.fold.resolvers.oldest_first import OldestFirst
from playhead.fold.resolvers.protocol import Resolver

_ADAPTIVE: Mapping[str, Resolver] = {resolver.name: resolver for resolver in (FlatProfile(), OldestFirst())}


def resolver_for(config: AutobiographicalConfig, *, otherwise: Resolver | None = None) -> Resolver:
    """Return the resolver that `folding_strategy` is or names, with adaptive_resolution; without it `otherwise`, which is Highest where none is given."""
    if config.adaptive_resolution:
        return config.folding_strategy if isinstance(config.folding_strategy, Resolver) else _ADAPTIVE[config.folding_strategy]
    return Highest() if otherwise is None else otherwise
