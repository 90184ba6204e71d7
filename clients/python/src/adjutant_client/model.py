"""The base of all models. It keeps members that it does not know: a newer service may send more."""

from __future__ import annotations

from typing import Any, Mapping, Union

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A value of the wire."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, protected_namespaces=())


Content = Union[Model, Mapping[str, Any]]
"""A model, or a mapping with the same members."""


def wire(content: Content) -> dict[str, Any]:
    """Members to send: those that were set, and constants."""
    if not isinstance(content, Model):
        return dict(content)
    return content.model_dump(mode="json", by_alias=True, exclude_none=True)
