"""The JSON API: its answers are the model's, and what it refuses it refuses with a sentence."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from serve_requests import answer_to, running
from tests_commands import refused, run

for extra in ("starlette", "uvicorn", "httpx", "rdkit", "jinja2"):
    pytest.importorskip(extra, reason="the server needs the extras serve and molecules")

import isonn
from isonn.serve import Limits, create_app

NITRO = "Cc1ccc([N+](=O)[O-])cc1"


def as_json(graph, names):
    once = graph.edges[:, 0] < graph.edges[:, 1]
    return {
        "nodes": graph.n,
        "edges": graph.edges[once].tolist(),
        "labels": [names[label] for label in graph.node_labels.tolist()],
        "edge_labels": graph.edge_labels[once].tolist(),
    }


def test_predictions_are_those_of_the_model(client, toxic):
    smiles = [NITRO, "CCO", "C1OC1CC", "[Na+].CC(=O)[O-]"]
    answer = client.post("/v1/predict", json={"model": "toxic", "smiles": smiles}).json()
    expected = toxic.predict_proba(smiles)
    assert [list(row["probabilities"].values()) for row in answer["predictions"]] == expected.tolist()
    assert [row["predicted"] for row in answer["predictions"]] == toxic.predict(smiles).tolist()


def test_graphs_may_be_given_by_the_names_or_codes_of_labels(client, mutag, mutag_model):
    graphs = [as_json(graph, mutag.node_label_names) for graph in mutag[:5]]
    coded = [{**row, "labels": graph.node_labels.tolist()} for row, graph in zip(graphs, mutag[:5], strict=True)]
    for given in (graphs, coded):
        answer = client.post("/v1/predict", json={"model": "mutag", "graphs": given}).json()
        found = [list(row["probabilities"].values()) for row in answer["predictions"]]
        np.testing.assert_allclose(found, mutag_model.predict_proba(mutag[:5]), rtol=0, atol=1e-12)


def test_matrices_labels_and_numbers(mutag, start):
    draw = np.random.default_rng(0)
    matrices = draw.normal(size=(20, 4, 4))
    matrices = matrices + matrices.transpose(0, 2, 1)
    aligned = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(matrices, np.arange(20) % 2)
    several = replace(mutag[:60], y=None).with_y(np.stack([mutag.y[:60] == 1, mutag.sizes[:60] > 17], axis=1) * 1)
    several = replace(several, target_names=("mutagenic", "large"))
    labels = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(several)
    numbers = isonn.SubgraphRegressor(max_nodes=2, head="linear", random_state=0).fit(mutag[:60], mutag.sizes[:60])
    study = isonn.as_graphset(matrices).with_confounds({"age": np.arange(20) * 7 % 11, "site": np.arange(20) % 3})
    adjusted = isonn.AlignedClassifier(shuffles=9, random_state=0).fit(study, np.arange(20) % 2)
    client = start(create_app({"aligned": aligned, "labels": labels, "numbers": numbers, "adjusted": adjusted}))
    for model in client.get("/v1/models").json()["models"]:
        given = client.post("/v1/explain", json={"model": model["name"], **model["example"]})
        assert given.status_code == 200, given.text
    answer = client.post("/v1/predict", json={"model": "aligned", "matrices": matrices[:3].tolist()}).json()
    found = [list(row["probabilities"].values()) for row in answer["predictions"]]
    np.testing.assert_allclose(found, aligned.predict_proba(matrices[:3]), rtol=0, atol=1e-12)
    graph = as_json(mutag[0], mutag.node_label_names)
    row = client.post("/v1/predict", json={"model": "labels", "graphs": [graph]}).json()["predictions"][0]
    assert row["predicted"] == dict(zip(("mutagenic", "large"), labels.predict(mutag[:1])[0].tolist(), strict=True))
    answer = client.post("/v1/explain", json={"model": "labels", "graphs": [graph]}).json()["explanations"][0]
    assert answer["predicted"] == row["predicted"]
    row = client.post("/v1/predict", json={"model": "numbers", "graphs": [graph]}).json()["predictions"][0]
    assert row == {"predicted": pytest.approx(numbers.predict(mutag[:1])[0], abs=1e-12)}
    confounds = {"age": [3], "site": [1]}
    for name, body in (
        ("aligned", {"matrices": matrices[:1].tolist()}),
        ("adjusted", {"matrices": matrices[:1].tolist(), "confounds": confounds}),
        ("numbers", {"graphs": [graph]}),
    ):
        edited = client.post("/v1/whatif", json={"model": name, **body, "edit": {"op": "edge", "nodes": [0, 2]}})
        assert edited.status_code == 200, edited.json()
    for wrong, sentence in [
        (7, "matrices has 7; give n rows of n numbers"),
        ([[0, 1], [1]], "rows of different lengths"),
        ([[0, "1"], ["1", 0]], "adjacency matrices hold real numbers"),
        ([[0, 10**400], [1, 0]], "too large to compute with"),
    ]:
        answer = client.post("/v1/predict", json={"model": "aligned", "matrices": [wrong]})
        assert (answer.status_code, sentence in answer.json()["error"]) == (422, True), answer.text


def test_an_explanation_sums_and_names_units(client, toxic):
    answer = client.post("/v1/explain", json={"model": "toxic", "smiles": [NITRO], "label": 1, "svg": True}).json()
    (row,) = answer["explanations"]
    parts = [part["contribution"] for name in ("units", "absent", "terms") for part in row[name]]
    assert sum(parts) == pytest.approx(row["score"] - row["base"], abs=1e-9)
    assert row["score"] == toxic.explain(NITRO, label=1).score
    assert row["units"][0]["text"] == "nitro on an aromatic ring"
    assert row["svg"].startswith("<svg")


def test_an_edit_gives_the_explanation_of_the_edited_molecule(client, toxic):
    edit = {"op": "attach", "atom": 0, "group": "nitro"}
    answer = client.post("/v1/whatif", json={"model": "toxic", "smiles": "c1ccccc1C", "label": 1, "edit": edit}).json()
    expected = toxic.explain(answer["smiles"], label=1)
    assert answer["score"] == expected.score
    np.testing.assert_array_equal(answer["node_importance"], expected.node_importance)
    assert answer["about"] == "10 atoms, 10 bonds"
    for i in range(10):
        assert f'data-node="{i}"' in answer["svg"]


def test_an_edit_that_breaks_valence_is_refused_with_the_reason_of_rdkit(client):
    edit = {"op": "element", "atom": 0, "element": "O"}
    answer = client.post("/v1/whatif", json={"model": "toxic", "smiles": "c1ccccc1", "edit": edit})
    assert answer.status_code == 422
    assert "Explicit valence for atom # 0 O, 3, is greater than permitted" in answer.json()["error"]


@pytest.mark.parametrize(
    ("edit", "count"),
    [
        ({"op": "add", "node": 0, "label": "N"}, "18 nodes, 20 edges"),
        ({"op": "add", "label": "N"}, "18 nodes, 19 edges"),
        ({"op": "delete", "node": 14}, "16 nodes, 16 edges"),
        ({"op": "edge", "nodes": [0, 16]}, "17 nodes, 20 edges"),
        ({"op": "edge", "nodes": [0, 1], "weight": 0}, "17 nodes, 18 edges"),
        ({"op": "label", "node": 14, "label": "C"}, "17 nodes, 19 edges"),
    ],
)
def test_other_graphs_can_be_edited(client, mutag, mutag_model, edit, count):
    graph = as_json(mutag[0], mutag.node_label_names)
    answer = client.post("/v1/whatif", json={"model": "mutag", "graphs": [graph], "edit": edit, "label": 1}).json()
    assert answer["about"] == count
    again = client.post("/v1/predict", json={"model": "mutag", "graphs": [answer["graph"]]}).json()
    assert again["predictions"][0]["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-12)
    assert answer["score"] != mutag_model.explain(mutag[0], label=1).score


BAD = [
    (b"{", 400, "is not JSON"),
    (b"[]", 400, "is a JSON array"),
    (b'{"smiles": ["\xff"]}', 400, "is not UTF-8"),
    (b'{"smiles": [NaN]}', 400, "NaN is not JSON"),
    (b"[" * 100_000, 400, "nested too deeply"),
    (b'{"smiles": ["CCO"]}', 404, "several models"),
    (b'{"model": "none", "smiles": ["CCO"]}', 404, "not on this server; use one of toxic, mutag"),
    (b'{"model": ["toxic"], "smiles": ["CCO"]}', 404, "not on this server"),
    (b'{"model": "toxic"}', 422, "no graphs; give one of smiles"),
    (b'{"model": "toxic", "smiles": []}', 422, "at least one entry"),
    (b'{"model": "toxic", "smiles": ["C(", "CCO"]}', 422, "syntax error at character 2"),
    (b'{"model": "toxic", "smiles": [3]}', 422, "smiles has 3"),
    (b'{"model": "toxic", "smiles": ["\\ud800"]}', 422, "give strings such as CCO"),
    (b'{"model": "toxic", "smiles": ["CCO\\nCCN"]}', 422, "row 0 ('CCO\\nCCN'): it has several lines"),
    (b'{"model": "toxic", "smiles": ["CCO"], "trsut": true}', 422, "the request has 'trsut'; its fields are model"),
    (b'{"model": "toxic", "smiles": ["CCO"], "trust": "false"}', 422, "trust is 'false'; give true or false"),
    (b'{"model": "toxic", "smiles": ["CCO"], "graphs": []}', 422, "smiles and graphs"),
    (b'{"model": "toxic", "graphs": [{"nodes": 2}]}', 422, "give smiles instead"),
    (b'{"model": "mutag", "smiles": ["CCO"]}', 422, "give graphs instead"),
    (b'{"model": "mutag", "graphs": [7]}', 422, "a graph is 7"),
    (b'{"model": "mutag", "graphs": [{"nodes": 1e9}]}', 422, "nodes is 1000000000.0"),
    (b'{"model": "mutag", "graphs": [{"nodes": 2, "edges": [[0, 2]]}]}', 422, "edges has [0, 2]; give pairs of diff"),
    (b'{"model": "mutag", "graphs": [{"nodes": 1, "attributes": [[1]]}]}', 422, "does not read any; leave them out"),
    (b'{"model": "mutag", "graphs": [{"nodes": 1, "labels": ["Xx"]}]}', 422, "has 'Xx'; the labels are C, N, O"),
    (b'{"model": "mutag", "graphs": [{"nodes": 1}]}', 422, "no node labels"),
    (b'{"model": "mutag", "graphs": [{"nodes": 1, "colour": 1}]}', 422, "a graph has 'colour'"),
    (b'{"model": "toxic", "smiles": ["' + b"C" * 2000 + b'"]}', 422, "2,000 nodes, above the limit of 1,000"),
]


@pytest.mark.parametrize(("body", "status", "sentence"), BAD)
def test_a_bad_request_is_refused_with_a_sentence(client, body, status, sentence):
    answer = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, sentence in answer.json()["error"]) == (status, True), answer.text


def test_edits_that_mean_nothing_are_refused(client):
    edits = [
        (7, "edit is not an object"),
        ({}, "op is None; use one of element, bond, delete, attach"),
        ({"op": "element", "atom": 9, "element": "N"}, "the molecule has no atom 9"),
        ({"op": "element", "atom": 0, "element": "Xx"}, "'Xx' is not an element"),
        ({"op": "bond", "atoms": [0, 0], "order": 1}, "atom 0 twice"),
        ({"op": "bond", "atoms": [0, 1], "order": 4}, "from 0 to 3"),
        ({"op": "attach", "atom": 0, "group": "gold"}, "'gold' is not a group"),
        ({"op": "delete", "atom": True}, "atom is True"),
    ]
    for edit, sentence in edits:
        answer = client.post("/v1/whatif", json={"model": "toxic", "smiles": "CCO", "edit": edit})
        assert (answer.status_code, sentence in answer.json()["error"]) == (422, True), answer.text


def test_labels_that_the_model_does_not_have_are_refused(client, mutag):
    graph = as_json(mutag[0], mutag.node_label_names)
    for edit, sentence in [
        ({"op": "label", "node": 0}, "label is None; give the new label of node 0"),
        ({"op": "label", "node": 0, "label": "Xx"}, "label has 'Xx'; the labels are C, N, O"),
        ({"op": "edge", "nodes": [0, 1], "weight": "heavy"}, "weight is 'heavy'; give a number"),
        ({"op": "edge", "nodes": [0, True]}, "nodes has True; give two whole numbers"),
    ]:
        answer = client.post("/v1/whatif", json={"model": "mutag", "graphs": [graph], "edit": edit})
        assert (answer.status_code, sentence in answer.json()["error"]) == (422, True), answer.text


def test_attributes_and_weights_are_announced_and_needed(start):
    """A model that was fitted with them must neither be unusable nor answer as if all weights were 1."""
    draw = np.random.default_rng(0)
    graphs = []
    for i in range(60):
        matrix = np.triu((draw.random((6, 6)) < 0.5) * draw.choice([0.5, 2.0, 3.0], (6, 6)), 1)
        rows = draw.choice([0.0, 1.0, 2.0], (6, 2))
        rows[:, 0] += i % 2
        cells = np.argwhere(matrix + matrix.T)
        weights = (matrix + matrix.T)[tuple(cells.T)]
        graphs.append(isonn.Graph(6, cells, weights=weights, node_attributes=rows))
    model = isonn.SubgraphClassifier(2, head="linear", random_state=0).fit(graphs, np.arange(60) % 2)
    client = start(create_app({"model": model}))
    (facts,) = client.get("/v1/models").json()["models"]
    assert (facts["attributes"], facts["weights"]) == (2, True)
    assert client.post("/v1/predict", json=facts["example"]).status_code == 200
    once = [graph.edges[:, 0] < graph.edges[:, 1] for graph in graphs[:3]]
    given = [
        {
            "nodes": 6,
            "edges": graph.edges[one].tolist(),
            "weights": graph.weights[one].tolist(),
            "attributes": graph.node_attributes.tolist(),
        }
        for graph, one in zip(graphs, once, strict=False)
    ]
    found = client.post("/v1/predict", json={"graphs": given}).json()["predictions"]
    np.testing.assert_allclose([row["probabilities"]["1"] for row in found], model.predict_proba(graphs[:3])[:, 1])
    edited = client.post("/v1/whatif", json={"graphs": given[:1], "edit": {"op": "delete", "node": 0}}).json()
    assert client.post("/v1/predict", json={"graphs": [edited["graph"]]}).status_code == 200
    for lacking, sentence in [
        ({"weights": None}, "no weights, but this model was fitted with them; give one per edge"),
        ({"attributes": None}, "no attributes, but this model was fitted with them; give a row of 2 numbers per node"),
        ({"attributes": [[1, 2]] * 5}, "attributes is a JSON array of length 5; give a row of 2 numbers per node, 6"),
        ({"attributes": [[1]] * 6}, "attributes is [1]; give a row of 2 numbers"),
        ({"attributes": [[1, "a"]] * 6}, "attributes has 'a'; give a row of 2 numbers"),
    ]:
        answer = client.post("/v1/predict", json={"graphs": [given[0] | lacking]})
        assert (answer.status_code, sentence in answer.json()["error"]) == (422, True), answer.text


def test_only_json_of_this_host_and_with_the_token_is_answered(toxic, start):
    client = start(create_app({"toxic": toxic}, token="a" * 16, hosts=["models.lab"]))
    body = {"smiles": ["CCO"]}
    token = {"authorization": f"Bearer {'a' * 16}"}
    assert client.post("/v1/predict", json=body, headers=token).status_code == 200
    assert client.post("/v1/predict", json=body, headers={**token, "host": "models.lab:80"}).status_code == 200
    assert client.post("/v1/predict", json=body, headers={**token, "host": "[::1]:8000"}).status_code == 200
    for headers, status in [
        ({}, 401),
        ({"authorization": f"Bearer {'b' * 16}"}, 401),
        ({"authorization": "a" * 16}, 401),
        ({**token, "host": "evil.example"}, 421),
        ({**token, "host": "127.0.0.1.evil.example"}, 421),
        ({**token, "host": ""}, 421),
        ({**token, "content-type": "text/plain"}, 415),
    ]:
        answer = client.post(
            "/v1/predict", content=json.dumps(body), headers={"content-type": "application/json"} | headers
        )
        assert answer.status_code == status, headers
    assert client.get("/v1/models").status_code == 401
    assert client.get("/v1/health").json()["status"] == "ok"
    preflight = client.options("/v1/predict", headers={"origin": "http://evil.example"})
    assert preflight.status_code in (401, 405)
    assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_limits_of_bodies_and_batches_hold(toxic, start):
    client = start(create_app({"toxic": toxic}, limits=Limits(body=1000, graphs=3, explained=2)))

    def post(path, count):
        return client.post(path, json={"smiles": ["CCO"] * count})

    assert post("/v1/predict", 3).status_code == 200
    assert "above the limit of 3" in post("/v1/predict", 4).json()["error"]
    assert "above the limit of 2" in post("/v1/explain", 3).json()["error"]
    assert post("/v1/predict", 1000).status_code == 413

    head = "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    chunk = b"3e8\r\n" + b"C" * 1000 + b"\r\n"  # without a length; the end never comes
    assert (
        b" 413 "
        in answer_to(
            client.base_url.port, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + 2 * chunk
        ).splitlines()[0]
    )


def test_an_answer_does_not_wait_for_the_client_to_confirm_its_first_half(app):
    with running(app) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.base_url.port)
        seconds = []
        for _ in range(10):
            start = time.perf_counter()
            connection.request("GET", "/v1/health")
            connection.getresponse().read()
            seconds.append(time.perf_counter() - start)
        connection.close()
    assert min(seconds[2:]) < 0.03  # Nagle's algorithm would make it 40 ms


def test_warnings_of_the_model_are_a_part_of_the_answer(client):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = client.post(
            "/v1/predict", json={"model": "toxic", "smiles": ["[SiH3][Si]([SiH3])([SiH3])[SeH]"]}
        ).json()
    assert "never seen in training" in " ".join(answer["warnings"])


OPENED = []
WATCHING = threading.Event()


def _watch(event, arguments):
    if WATCHING.is_set() and event == "open":
        OPENED.append(arguments[0])


def test_a_request_opens_no_file(client):
    sys.addaudithook(_watch)
    body = {"model": "toxic", "smiles": NITRO, "edit": {"op": "attach", "atom": 0, "group": "nitro"}}
    for number in range(2):
        if number:  # the first compiles and imports, as `isonn serve` does before it starts
            WATCHING.set()
        assert client.post("/v1/whatif", json=body).status_code == 200
        assert client.post("/v1/suggest", json={"model": "toxic", "smiles": NITRO, "goal": 0}).status_code == 200
        assert client.post("/v1/predict", json={"model": "toxic", "smiles": [NITRO]}).status_code == 200
        for path in ("/", "/page.js", "/page.css", "/openapi.json", "/v1/models"):
            assert client.get(path).status_code == 200
    WATCHING.clear()
    assert OPENED == []


def check(schema, value, schemas, where="answer"):
    """Check a value against the part of JSON Schema that the document uses."""
    if "$ref" in schema:
        return check(schemas[schema["$ref"].rsplit("/", 1)[1]], value, schemas, where)
    for part in schema.get("allOf", ()):
        check(part, value, schemas, where)
    if "oneOf" in schema:
        assert sum(fits(part, value, schemas) for part in schema["oneOf"]) == 1, (where, value)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kinds |= {"number": (int, float), "integer": int}
    allowed = schema.get("type", [])
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if allowed:
        assert any(isinstance(value, kinds[kind]) for kind in allowed), (where, value)
        assert "boolean" in allowed or not isinstance(value, bool), (where, value)
    assert "enum" not in schema or value in schema["enum"], (where, value)
    if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        assert set(schema.get("required", ())) <= set(value), (where, sorted(value))
        assert more is not False or set(value) <= set(properties), (where, sorted(value))
        for name, entry in value.items():
            check(properties.get(name, more or {}), entry, schemas, f"{where}.{name}")
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9), (where, value)
        for i, entry in enumerate(value):
            check(schema.get("items", {}), entry, schemas, f"{where}[{i}]")
    return None


def fits(schema, value, schemas):
    try:
        check(schema, value, schemas)
    except AssertionError:
        return False
    return True


def test_requests_and_answers_are_as_the_openapi_document_says(mutag, toxic, mutag_model, start):
    sizes = mutag.sizes[:60].astype(float)
    numbers = isonn.SubgraphRegressor(max_nodes=2, head="linear", keep_examples=True, random_state=0)
    several = np.stack([mutag.y[:60] == 1, mutag.sizes[:60] > 17], axis=1) * 1
    labels = isonn.SubgraphClassifier(max_nodes=2, head="linear", random_state=0).fit(mutag[:60], several)
    models = {"toxic": toxic, "mutag": mutag_model, "numbers": numbers.fit(mutag[:60], sizes), "labels": labels}
    client = start(create_app(models))
    document = client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    graph = {"graphs": [as_json(mutag[0], mutag.node_label_names)]}
    bodies = [
        ("/v1/predict", {"model": "toxic", "smiles": [NITRO, "CCO"], "trust": True, "coverage": 0.8}),
        ("/v1/explain", {"model": "toxic", "smiles": NITRO, "svg": True}),
        ("/v1/whatif", {"model": "toxic", "smiles": NITRO, "edit": {"op": "delete", "atom": 0}}),
        ("/v1/suggest", {"model": "toxic", "smiles": NITRO, "goal": 0, "top": 2}),
        *(("/v1/predict", {"model": name, **graph, "trust": True}) for name in ("mutag", "numbers", "labels")),
        *(("/v1/explain", {"model": name, **graph}) for name in ("mutag", "numbers", "labels")),
        ("/v1/whatif", {"model": "numbers", **graph, "edit": {"op": "edge", "nodes": [0, 16]}}),
        ("/v1/suggest", {"model": "mutag", **graph, "goal": -1, "top": 2}),
    ]
    for path, body in bodies:
        about = document["paths"][path]["post"]
        check(about["requestBody"]["content"]["application/json"]["schema"], body, schemas)
        answer = client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        check(about["responses"]["200"]["content"]["application/json"]["schema"], answer.json(), schemas)
    for path, methods in document["paths"].items():
        if "get" in methods:
            schema = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            check(schema, client.get(path).json(), schemas)
        else:
            assert client.post(path, json={}).status_code == 404, "there are several models"


def test_predictions_that_wait_together_are_those_of_each_alone(toxic, start):
    smiles = [NITRO, "CCO", "C1OC1CC", "CCN", "c1ccncc1", "CC(=O)O", "CCCl", "C(", "[SiH3][Si]([SiH3])([SiH3])[SeH]"]
    app = create_app({"toxic": toxic}, limits=Limits(graphs=5))
    client = start(app)
    alone = {text: client.post("/v1/predict", json={"smiles": [text]}).json() for text in smiles}
    assert "error" in alone["C("]
    assert "warnings" in alone[smiles[-1]]
    with ThreadPoolExecutor(18) as pool:
        found = list(pool.map(lambda text: client.post("/v1/predict", json={"smiles": text}).json(), smiles * 6))
    for text, answer in zip(smiles * 6, found, strict=True):
        assert answer == alone[text]


def test_clients_that_send_half_a_request_are_sent_away(app, toxic, monkeypatch):
    monkeypatch.setattr("isonn.serve.server.IDLE", 0.3)
    slow = create_app({"toxic": toxic}, limits=Limits(slow=0.3))
    head = (
        b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    )
    with running(slow) as client:
        port = client.base_url.port
        assert b"408" in answer_to(port, head + b'{"smi').splitlines()[0]
        assert answer_to(port, b"POST /v1/predict HTT") == b""
        assert answer_to(port, b"") == b""
        assert b" 400 " in answer_to(port, b"\x00\xff\x00 nonsense\r\n\r\n").splitlines()[0]
        answer_to(port, b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n")


def test_the_command_refuses_what_cannot_be_served(toxic, tmp_path):
    toxic.save(tmp_path / "model")
    (tmp_path / "empty").mkdir()
    refused(run("serve", tmp_path / "empty"), "holds no model.json")
    refused(run("serve", tmp_path / "nothing"), "is not a model folder")
    refused(run("serve", tmp_path / "model", "--host", "0.0.0.0"), "can be reached by others; give a --token")
    refused(run("serve", tmp_path / "model", "--token", "short"), "at least 16")
    refused(run("serve", tmp_path / "model", tmp_path / "model"), "two models are called 'model'")
    refused(run("serve", tmp_path / "model", "--host", "203.0.113.1", "--token", "a" * 20), "203.0.113.1")
    old = json.loads((tmp_path / "model" / "model.json").read_text())
    (tmp_path / "model" / "model.json").write_text(json.dumps({**old, "format": "isonn-model-2"}))
    refused(run("serve", tmp_path / "model"), "was saved by isonn 0.2.0")


def test_a_port_in_use_is_refused(toxic, tmp_path):
    from isonn.serve.server import listen

    toxic.save(tmp_path / "model")
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        refused(run("serve", tmp_path / "model", "--port", port), f"port {port} of 127.0.0.1 is in use")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_server_answers_logs_no_structure_and_ends_on_a_signal(toxic, tmp_path):
    toxic.save(tmp_path / "model")
    command = [sys.executable, "-m", "isonn", "serve", f"tox={tmp_path / 'model'}", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        ended = threading.Timer(60, process.kill)  # a failure below would wait for ever
        ended.start()
        line = process.stdout.readline()
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        body = json.dumps({"smiles": [NITRO]}).encode()
        head = f"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        answer = answer_to(port, f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        process.send_signal(signal.SIGTERM)
        start = time.monotonic()
        out, err = process.communicate(timeout=30)
    ended.cancel()
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["model"] == "tox"
    assert process.returncode == 0, err
    assert time.monotonic() - start < 10
    assert out == ""
    assert "POST /v1/predict 200" in err
    assert NITRO not in err
    assert "Traceback" not in err


def test_numbers_carry_their_unit_and_suggestions_count_what_is_out_of_domain(start):
    molecules = [f"{'C' * n}{end}" for n in range(1, 9) for end in ("O", "N", "Cl", "C(=O)O", "c1ccccc1", "C#N")]
    values = [float(len(smiles)) + 0.5 for smiles in molecules]
    graphs = isonn.as_graphset(molecules, values, target_names=["half-life (h)"])
    reg = isonn.SubgraphRegressor(2, head="linear", random_state=0).fit(graphs)
    client = start(create_app({"half-life": reg}))
    (facts,) = client.get("/v1/models").json()["models"]
    assert facts["outputs"] == [{"value": 0, "name": "half-life (h)", "unit": "h"}]
    answer = client.post("/v1/suggest", json={"smiles": "CCCCO", "goal": 2, "top": 3}).json()
    assert answer["out_of_domain"] == reg.suggest("CCCCO", 2, top=3).out_of_domain > 0
