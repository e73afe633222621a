"""What comes from scikit-learn where it is installed, and stands on its own where it is not."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class BaseEstimator:
        """The part of scikit-learn's class that is used here."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class NotFittedError(ValueError, AttributeError):
        """Raised where a model is needed and none was fitted."""

    class ConvergenceWarning(UserWarning):
        """Says that a fit ended before it was done."""

    class DataConversionWarning(UserWarning):
        """Says that data were put into another shape."""

else:
    try:
        from sklearn.base import BaseEstimator
        from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
    except ImportError:

        class BaseEstimator:
            """Parameters by the names of the constructor, as scikit-learn has them."""

            @classmethod
            def _names(cls):
                return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

            def get_params(self, deep=True):
                """The parameters of the constructor by name."""
                return {name: getattr(self, name) for name in self._names()}

            def set_params(self, **params):
                """Changes parameters by name."""
                known = self._names()
                for name, value in params.items():
                    if name not in known:
                        raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}; valid are {known}")
                    setattr(self, name, value)
                return self

            def __repr__(self):
                defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
                said = [f"{n}={v!r}" for n, v in self.get_params().items() if repr(v) != repr(defaults[n])]
                return f"{type(self).__name__}({', '.join(said)})"

        class NotFittedError(ValueError, AttributeError):
            """Raised where a model is needed and none was fitted."""

        class ConvergenceWarning(UserWarning):
            """Says that a fit ended before it was done."""

        class DataConversionWarning(UserWarning):
            """Says that data were put into another shape."""


__all__ = ["BaseEstimator", "ConvergenceWarning", "DataConversionWarning", "NotFittedError"]
