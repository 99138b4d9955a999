"""Certified matching against full matching, at every step of a training run."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import isonn
from isonn.errors import InputError
from isonn.matching import exact_distance
from isonn.matching.exact import exact_winners, relabelled
from isonn.matching.permutations import cells_of_all, permutations
from isonn.nn import IsoLayer
from isonn.windows import incremental as certified
from isonn.windows.certificates import twin_codes, twins_of
from isonn.windows.cut import cut_windows
from isonn.windows.incremental import CertifiedWindows


@pytest.fixture
def count(monkeypatch):
    """How many regions were matched in full, and how many were decided by their list, step by step."""
    counted = {"full": [], "listed": []}

    def spy(name, key):
        method = getattr(certified._Step, name)

        def counting(self, rows, *others):
            counted[key].append(len(rows))
            return method(self, rows, *others)

        monkeypatch.setattr(certified._Step, name, counting)

    spy("_match_in_full", "full")
    spy("_compare_list", "listed")
    return counted


def check_step(windows, templates, graphs):
    """Distances, gradients and winners are those of full matching, as far as rounding allows."""
    k = templates.shape[-1]
    regions = cut_windows(graphs, k).reshape(-1, k, k)
    ours = templates.detach().clone().requires_grad_()
    slow = templates.detach().clone().requires_grad_()
    distance, expected = windows.distance(ours), exact_distance(slow, regions)
    double = torch.promote_types(regions.dtype, torch.float64)
    tolerance = 1e-6 if regions.dtype == torch.float32 else 1e-13
    torch.testing.assert_close(distance, expected, rtol=tolerance, atol=tolerance)
    weights = torch.linspace(-1, 2, distance.numel(), dtype=distance.dtype).view(distance.shape)
    gradients = [torch.autograd.grad((z * weights).sum(), t)[0] for z, t in ((distance, ours), (expected, slow))]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5 * float(gradients[1].abs().max()) + 1e-30)
    # the definition in double precision says which winners are beyond doubt
    winners = torch.from_numpy(windows.match(templates.detach())[1]).long()
    table = templates.detach().flatten(1).to(double)[:, torch.from_numpy(cells_of_all(k)).long()]
    score = torch.einsum("cfe,we->cwf", table, regions.flatten(1).to(double))
    (best, second), place = score.topk(2, 2).values.unbind(2), score.argmax(2)
    norms = templates.detach().flatten(1).norm(dim=1)[:, None] * regions.flatten(1).norm(dim=1)
    clear = best - second > 1e-5 * norms
    torch.testing.assert_close(winners[clear], place[clear], rtol=0, atol=0)
    torch.testing.assert_close(winners[clear], exact_winners(templates.detach(), regions).t()[clear], rtol=0, atol=0)
    return clear.double().mean().item()


def learn(windows, graphs, templates, generator, steps, learning_rate, batch_size=None):
    """Train the templates towards random weights on the features; checked before every step."""
    templates = templates.clone().requires_grad_()
    optimizer = torch.optim.Adam([templates], lr=learning_rate)
    clear = []
    for _ in range(steps):
        rows = torch.randperm(len(graphs), generator=generator)[:batch_size]
        batch = windows if batch_size is None else windows[rows]
        chosen = graphs if batch_size is None else graphs[rows]
        clear.append(check_step(batch, templates, chosen))
        optimizer.zero_grad()
        (batch.distance(templates) * torch.randn(1, generator=generator).item()).mean().backward()
        optimizer.step()
    return clear


def draw(generator, dtype, graphs=3, n=9, k=5, c=1):
    adjacency = torch.randn(graphs, n, n, dtype=dtype, generator=generator)
    return adjacency, torch.randn(c, k, k, dtype=dtype, generator=generator)


@pytest.mark.parametrize(("k", "c"), [(3, 2), (5, 1), (5, 3), (6, 1)])
def test_every_step_of_training_equals_full_matching(k, c, dtype, generator, count):
    adjacency, templates = draw(generator, dtype, k=k, c=c, n=10)
    clear = learn(CertifiedWindows(adjacency, k), adjacency, templates, generator, 12, 0.002)
    assert np.mean(clear) > 0.95  # so the winners were compared nearly everywhere
    w = 3 * (10 - k + 1) ** 2
    assert count["full"][:c] == [w] * c
    assert sum(count["full"][c:]) < 0.02 * w * 12 * c
    assert sum(count["listed"]) > 0


def test_k_7_equals_full_matching(generator, count):
    adjacency, templates = draw(generator, torch.float32, graphs=1, k=7, n=12)
    learn(CertifiedWindows(adjacency, 7), adjacency, templates, generator, 6, 0.002)
    assert count["full"][0] == 36
    assert sum(count["full"][1:]) < 5


def test_large_steps_use_certificates_up_and_stay_exact(dtype, generator, count):
    adjacency, templates = draw(generator, dtype, c=2)
    learn(CertifiedWindows(adjacency, 5), adjacency, templates, generator, 10, 0.3)
    assert sum(count["full"][2:]) > 50
    assert sum(count["listed"]) > 50


def test_templates_that_jump_anywhere_are_matched_exactly(dtype, generator):
    adjacency, _ = draw(generator, dtype)
    windows = CertifiedWindows(adjacency, 5)
    for scale in (1.0, 1000.0, 1e-3, 0.0, 1.0):
        check_step(windows, scale * torch.randn(2, 5, 5, dtype=dtype, generator=generator), adjacency)


def test_mini_batches_find_their_certificates_again(dtype, generator, count):
    adjacency, templates = draw(generator, dtype, graphs=8)
    learn(CertifiedWindows(adjacency, 5), adjacency, templates, generator, 20, 0.002, batch_size=3)
    assert sum(count["full"]) < 1.1 * 8 * 25


def test_what_is_looked_at_together_before_training_changes_nothing(generator, monkeypatch):
    adjacency, templates = draw(generator, torch.float32)
    whole = CertifiedWindows(adjacency, 5).distance(templates)
    monkeypatch.setattr("isonn.windows.certificates.BLOCK_NUMBERS", 1)
    torch.testing.assert_close(CertifiedWindows(adjacency, 5).distance(templates), whole, rtol=0, atol=0)


def test_snapshots_nobody_needs_are_dropped_and_nothing_changes(generator, monkeypatch):
    monkeypatch.setattr("isonn.windows.certificates.LOG_LENGTH", 4)
    adjacency, templates = draw(generator, torch.float32, graphs=1)
    windows = CertifiedWindows(adjacency, 5)
    learn(windows, adjacency, templates, generator, 40, 0.01)
    assert len(windows._certified[0][1].snapshots) < 40


@pytest.mark.parametrize(
    "graphs",
    [
        torch.zeros(2, 8, 8),
        torch.ones(2, 8, 8) - torch.eye(8),
        torch.nn.functional.pad(torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1)), (0, 5, 0, 5)),
        torch.eye(9).roll(1, 0).expand(2, 9, 9).contiguous(),
        torch.randint(0, 2, (2, 9, 9), generator=torch.Generator().manual_seed(2)).float(),
    ],
    ids=["zero", "constant", "padded", "cycle", "zero-one"],
)
def test_ties_cost_no_exactness(graphs, dtype, generator):
    templates = torch.randn(2, 5, 5, dtype=dtype, generator=generator)
    learn(CertifiedWindows(graphs.to(dtype), 5), graphs.to(dtype), templates, generator, 5, 0.01)


def test_constant_and_padded_regions_do_not_need_full_matching_again(generator, count):
    graphs = torch.zeros(2, 12, 12)
    graphs[:, :5, :5] = torch.randn(2, 5, 5, generator=generator)
    learn(CertifiedWindows(graphs, 6), graphs, torch.randn(1, 6, 6, generator=generator), generator, 8, 0.002)
    assert count["full"][0] == 2 * 49
    assert sum(count["full"][1:]) < 10


def test_the_order_of_steps_does_not_change_the_bits(generator):
    graphs = torch.randint(0, 3, (3, 9, 9), generator=generator).float()  # many near ties
    path = torch.randn(1, 5, 5, generator=generator) + 0.003 * torch.randn(6, 1, 5, 5, generator=generator).cumsum(0)
    windows = CertifiedWindows(graphs, 5)
    for templates in path:
        distance, winners, _ = windows.match(templates)
        fresh_distance, fresh_winners, _ = CertifiedWindows(graphs, 5).match(templates)
        np.testing.assert_array_equal(winners, fresh_winners)
        torch.testing.assert_close(distance, fresh_distance, rtol=0, atol=0)
        part, part_winners, _ = windows[torch.tensor([2, 1])].match(templates)
        np.testing.assert_array_equal(part_winners.reshape(2, 25), winners.reshape(3, 25)[[2, 1]])
        torch.testing.assert_close(part.view(2, 25), distance.view(3, 25)[[2, 1]], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["drift", "outside"])
def test_an_unsound_certificate_would_be_caught(name, generator, monkeypatch):
    adjacency, templates = draw(generator, torch.float32, graphs=4)
    if name == "drift":  # as if templates had moved a tenth of the way they did
        drift = certified.TemplateLog.drift
        monkeypatch.setattr(certified.TemplateLog, "drift", lambda self, template: drift(self, template) / 10)
    else:  # as if the list, a short one, held all permutations
        monkeypatch.setattr(certified, "KEPT", 2)
        monkeypatch.setattr("isonn.windows.certificates.KEPT", 2)
        in_full = certified._Step._match_in_full

        def forget(self, rows, now):
            in_full(self, rows, now)
            self.certificates.outside[rows] = -np.inf

        monkeypatch.setattr(certified._Step, "_match_in_full", forget)
    with pytest.raises(AssertionError, match="not close"):
        learn(CertifiedWindows(adjacency, 5), adjacency, templates, generator, 40, 0.1)


def test_a_number_that_is_none_gives_none(generator):
    adjacency, templates = draw(generator, torch.float32)
    adjacency[0, 0, 0] = torch.nan
    windows = CertifiedWindows(adjacency, 5)
    for _ in range(2):
        assert windows.distance(templates)[0].isnan().all()
        assert windows.distance(templates)[-1].isfinite().all()


def test_templates_of_another_type_or_size_are_refused(generator):
    windows = CertifiedWindows(torch.randn(2, 8, 8, generator=generator), 5)
    with pytest.raises(InputError, match="float64.*float32"):
        windows.distance(torch.zeros(1, 5, 5, dtype=torch.float64))
    with pytest.raises(InputError, match="k=4 nodes and regions 5"):
        windows.distance(torch.zeros(1, 4, 4))


# ---- the parts


@pytest.mark.parametrize("k", [3, 5])
def test_permutations_left_out_for_twins_change_no_region(k, generator):
    regions = torch.randint(0, 2, (60, k, k), generator=generator).float()
    regions[0] = 0
    patterns, permutations_of = twins_of(twin_codes(regions), k)
    template = torch.randn(k * k, dtype=torch.float64, generator=generator)
    score = regions.flatten(1).double() @ relabelled(template[None]).t()
    for row, pattern in zip(score, patterns, strict=True):
        tried = permutations_of[pattern]
        if tried is not None:  # the same values, each several times
            torch.testing.assert_close(row[tried].repeat_interleave(len(row) // len(tried)).sort()[0], row.sort()[0])
    assert permutations_of[patterns[0]].tolist() == [0]
    assert any(tried is None for tried in permutations_of)
    assert len(permutations(k)) == score.shape[1]


# ---- the layer and the estimator


def weighted(generator, graphs=10, n=9):
    adjacency = torch.randn(graphs, n, n, generator=generator)
    return ((adjacency + adjacency.mT) / 2).numpy(), np.arange(graphs) % 2


@pytest.fixture(autouse=True)
def certified_at_once(monkeypatch):
    """Small graphs and small templates are not worth certificates; here they get them."""
    monkeypatch.setattr("isonn.windows.match.MIN_MULTIPLICATIONS", 0)
    monkeypatch.setattr("isonn.windows.estimators.MIN_CERTIFIED_K", 5)


def classifier(**settings):
    return isonn.IsoNNClassifier(**{"k": 5, "c": 2, "hidden": (8,), "epochs": 5, "random_state": 0, **settings})


@pytest.mark.parametrize("settings", [{}, {"batch_size": 4}, {"symmetric": True}, {"layers": ((2, 5), (1, 3))}])
def test_a_classifier_learns_the_same_with_and_without_certificates(settings, generator, monkeypatch, count):
    graphs, y = weighted(generator)
    ours = classifier(**settings).fit(graphs, y)
    assert count["full"]
    monkeypatch.setattr("isonn.windows.estimators.MIN_CERTIFIED_K", 99)
    slow = classifier(**settings).fit(graphs, y)
    np.testing.assert_allclose(ours.history_.loss, slow.history_.loss, rtol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(graphs), slow.predict_proba(graphs), atol=1e-4)


@pytest.mark.parametrize("settings", [{"k": 3}, {"matching": "assigned"}, {"matching": "fast"}])
def test_certificates_are_kept_only_where_they_pay(settings, generator, count):
    classifier(**settings, epochs=1).fit(*weighted(generator))
    assert not count["full"]


def test_symmetric_templates_match_half_the_windows_to_the_same_maps(generator, count):
    graphs = torch.from_numpy(weighted(generator)[0])
    layer = IsoLayer(5, 2, generator=generator, symmetric=True)
    torch.testing.assert_close(layer.templates, layer.templates.mT, rtol=0, atol=0)
    regions = cut_windows(graphs, 5).reshape(-1, 5, 5)
    expected = exact_distance(layer.templates, regions).view(10, 25, 2).mT.reshape(10, 2, 5, 5)
    torch.testing.assert_close(layer.distances(graphs), expected)
    torch.testing.assert_close(layer.distances(CertifiedWindows(graphs, 5)), expected)
    assert count["full"] == [250, 250]
    torch.testing.assert_close(layer.distances(CertifiedWindows(graphs, 5, half=True)), expected)
    assert count["full"] == [250, 250, 150, 150]


def test_a_symmetric_layer_on_directed_graphs_matches_all_windows(generator):
    layer = IsoLayer(3, 2, generator=generator, symmetric=True)
    graphs = torch.randn(2, 6, 6, generator=generator)
    expected = exact_distance(layer.templates, cut_windows(graphs, 3).reshape(-1, 3, 3))
    torch.testing.assert_close(layer.distances(graphs).transpose(0, 1).flatten(1).t(), expected)


def test_half_of_the_windows_is_refused_for_other_templates(generator):
    graphs = torch.from_numpy(weighted(generator)[0])
    with pytest.raises(InputError, match="CertifiedWindows with half=True need symmetric templates; use half=False"):
        IsoLayer(5, 1)(CertifiedWindows(graphs, 5, half=True))


def test_a_symmetric_classifier_stays_symmetric_and_is_read_back(generator, tmp_path):
    graphs, y = weighted(generator)
    clf = classifier(symmetric=True, learning_rate=0.05).fit(graphs, y)
    start = classifier(symmetric=True, epochs=1, learning_rate=1e-9).fit(graphs, y)
    for template, before in zip(clf.templates_, start.templates_, strict=True):
        np.testing.assert_array_equal(template.adjacency, template.adjacency.T)
        assert np.abs(template.adjacency - before.adjacency).min() > 0.001
    clf.save(tmp_path / "model")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "model").predict_proba(graphs), clf.predict_proba(graphs))
