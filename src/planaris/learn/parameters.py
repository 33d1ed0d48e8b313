"""Parameters of the constructor, as scikit-learn asks for them."""

from __future__ import annotations

import inspect
from typing import Any, Self

from planaris.errors import ModelError


class Parameters:
    """Reads and sets what the constructor of a subclass takes, as scikit-learn wants it."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(set(inspect.signature(cls.__init__).parameters) - {"self"})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor; ``deep`` changes nothing."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the constructor."""
        for name, value in parameters.items():
            if name not in self._parameter_names():
                msg = f"`{name}` is no parameter; there are {', '.join(self._parameter_names())}"
                raise ModelError(msg)
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what kind of estimator this is."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)  # arrays do not compare
        )
        return f"{type(self).__name__}({', '.join(changed)})"
