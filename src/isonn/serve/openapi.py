"""The OpenAPI document of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import isonn

if TYPE_CHECKING:
    from isonn.serve.app import Models

_STRING, _NUMBER, _WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def openapi(models: Models) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of a server with these models."""
    limits = models.limits
    graph = {
        "type": "object",
        "required": ["nodes"],
        "properties": {
            "nodes": {**_WHOLE, "minimum": 1, "maximum": limits.nodes, "description": "number of nodes"},
            "edges": _list(_list(_WHOLE), "pairs of nodes, numbered from 0; each edge once"),
            "labels": _list({}, "one label per node: a name of the model's labels, or its code"),
            "edge_labels": _list({}, "one label per edge"),
            "weights": _list(_NUMBER, "one weight per edge"),
        },
    }
    forms = {
        "model": {**_STRING, "enum": list(models.by_name), "description": "may be left out if there is one"},
        "smiles": _list(_STRING, "molecules, for models of molecules"),
        "graphs": _list(graph, "graphs, for other models"),
        "matrices": _list(_list(_list(_NUMBER)), "square matrices, for aligned models"),
        "confounds": {"type": "object", "description": 'for aligned models with confounds, such as {"age": [31]}'},
    }
    label = {"description": "the class, label or column to explain; the predicted one by default"}
    edit = {
        "type": "object",
        "required": ["op"],
        "description": "of molecules: element (atom, element), bond (atoms, order; 0 deletes), delete (atom), attach "
        "(atom, group); of other graphs: edge (nodes, weight; 0 deletes), label (node, label), delete (node), add "
        "(label, and node to join it to). Atoms are numbered as in the SMILES.",
        "properties": {"op": _STRING},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "isonn", "version": isonn.__version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/v1/health": _get("Whether the server runs"),
            "/v1/models": _get("The models, what they read and what they predict"),
            "/v1/predict": _post(
                f"Predict up to {limits.graphs:,} graphs",
                {
                    **forms,
                    "trust": {"type": "boolean", "description": "whether to add intervals or sets of classes"},
                    "coverage": {**_NUMBER, "description": "probability that they hold the truth; 0.9 by default"},
                },
            ),
            "/v1/explain": _post(
                f"Explain up to {limits.explained} predictions",
                {**forms, "label": label, "svg": {"type": "boolean", "description": "whether to draw the graphs"}},
            ),
            "/v1/whatif": _post("Edit one graph and explain the result", {**forms, "label": label, "edit": edit}),
            "/v1/suggest": _post(
                "Small edits of one graph that move its prediction to a goal",
                {
                    **forms,
                    "goal": {"description": "the class, or the number to reach"},
                    "label": {"description": "the label or column that goal is about, if there are several"},
                    "top": {**_WHOLE, "description": "number of suggestions"},
                },
            ),
        },
    }


def _list(items: dict[str, Any], text: str = "") -> dict[str, Any]:
    return {"type": "array", "items": items, **({"description": text} if text else {})}


def _get(summary: str) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": {"200": _json("the answer", {"type": "object"})}}}


def _post(summary: str, properties: dict[str, Any]) -> dict[str, Any]:
    error = {"type": "object", "properties": {"error": _STRING}}
    responses = {
        "200": _json("the answer", {"type": "object"}),
        "400": _json("the body is not JSON", error),
        "401": _json("the token is missing or wrong", error),
        "404": _json("there is no such model", error),
        "408": _json("the body arrived too slowly", error),
        "413": _json("the body is too large", error),
        "415": _json("the body has another content type than application/json", error),
        "421": _json("the Host header is not a name of this server", error),
        "422": _json("the model cannot use what was sent; the sentence says why", error),
        "503": _json("too many requests are waiting", error),
    }
    body = {"required": True, **_json("", {"type": "object", "properties": properties})}
    body.pop("description")
    return {"post": {"summary": summary, "security": [{}, {"token": []}], "requestBody": body, "responses": responses}}


def _json(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
