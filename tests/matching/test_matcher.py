"""The contract of every matcher, and a new one registered from outside."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from reference import distance_by_definition, permutation_matrix, relabelled

import isonn
from isonn.errors import InputError
from isonn.matching import MATCHERS, Matcher, best_permutation, exact_distance, matcher_named, register_matcher

K = 4


class SortedMatcher(Matcher):
    """A toy: compare the nodes of both in the order of their row sums."""

    name = "sorted"
    prepares = True

    def prepare(self, regions):
        return regions.sum(2).argsort(1).argsort(1)

    def distance(self, templates, regions, prepared=None):
        p = self._find(templates, self.prepare(regions) if prepared is None else prepared)
        template = torch.arange(len(templates))[None, :, None, None]
        return (templates[template, p[..., :, None], p[..., None, :]] - regions[:, None]).square().sum((2, 3))

    def permutations(self, templates, regions):
        return self._find(templates, self.prepare(regions))

    def _find(self, templates, ranks):
        return templates.sum(2).argsort(1)[:, ranks].transpose(0, 1)


@pytest.fixture(scope="module", autouse=True)
def toy():
    register_matcher(SortedMatcher())
    yield
    del MATCHERS["sorted"]


@pytest.fixture(params=["exact", "fast", "fast-authors", "assigned", "definition", "sorted"])
def matcher(request):
    return matcher_named(request.param)


def draw(generator, dtype, c=2, w=7):
    templates = torch.randn(c, K, K, dtype=dtype, generator=generator)
    return templates, torch.randn(w, K, K, dtype=dtype, generator=generator)


def test_distances_have_one_row_per_region_and_are_not_negative(matcher, generator, dtype):
    for c, w in ((2, 7), (1, 1), (3, 0)):
        templates, regions = draw(generator, dtype, c, w)
        found = matcher.distance(templates, regions)
        assert found.shape == (w, c)
        assert found.dtype == dtype
        assert (found >= 0).all()


def test_other_regions_do_not_change_a_distance(matcher, generator, dtype):
    templates, regions = draw(generator, dtype)
    alone = torch.cat([matcher.distance(templates, region[None]) for region in regions])
    torch.testing.assert_close(matcher.distance(templates, regions), alone)


def test_what_is_prepared_once_gives_the_same_distances(matcher, generator, dtype):
    templates, regions = draw(generator, dtype)
    prepared = matcher.prepare(regions)
    assert (prepared is not None) == matcher.prepares
    expected = matcher.distance(templates, regions)
    torch.testing.assert_close(matcher.distance(templates, regions, prepared), expected, rtol=0, atol=0)


def test_the_permutations_attain_the_distance(matcher, generator, dtype):
    templates, regions = draw(generator, dtype)
    found = matcher.permutations(templates, regions)
    if found is None:
        with pytest.raises(InputError, match=f"matching='{matcher.name}' does not give permutations"):
            best_permutation(templates[0], regions[0], matcher.name)
        return
    np.testing.assert_array_equal(found.sort(2).values, torch.arange(K).expand(7, 2, K))
    attained = [
        torch.stack(
            [(relabelled(template, p) - region).square().sum() for template, p in zip(templates, row, strict=True)]
        )
        for region, row in zip(regions, found, strict=True)
    ]
    torch.testing.assert_close(matcher.distance(templates, regions), torch.stack(attained))
    assert best_permutation(templates[1], regions[2], matcher.name).tolist() == found[2, 1].tolist()


def test_relabelling_a_region_changes_nothing_unless_the_matcher_depends_on_order(matcher, generator, dtype):
    templates, regions = draw(generator, dtype)
    order = torch.randperm(K, generator=generator)
    other = torch.stack([relabelled(region, order) for region in regions])
    if not matcher.depends_on_order:
        torch.testing.assert_close(matcher.distance(templates, other), matcher.distance(templates, regions))


def test_an_exact_matcher_gives_the_minimum_and_others_that_permute_no_less(matcher, generator, dtype):
    templates, regions = draw(generator, dtype)
    found, least = matcher.distance(templates, regions), distance_by_definition(templates, regions)
    if matcher.exact:
        torch.testing.assert_close(found, least)
    elif matcher.permutations(templates, regions) is not None:
        assert (found >= least - 1e-4).all()


def test_gradients_reach_templates_and_regions(matcher, generator):
    templates, regions = draw(generator, torch.float64)
    templates.requires_grad_()
    regions.requires_grad_()
    gradients = torch.autograd.grad(matcher.distance(templates, regions).sum(), (templates, regions))
    for gradient in gradients:
        assert gradient.isfinite().all()
        assert gradient.abs().max() > 0


def test_a_layer_a_classifier_and_its_explanations_take_a_matcher_registered_from_outside(mutag, tmp_path):
    clf = isonn.IsoNNClassifier(k=3, c=2, matching="sorted", hidden=(8,), epochs=2, random_state=0).fit(mutag)
    clf.save(tmp_path / "model")
    np.testing.assert_array_equal(isonn.load_model(tmp_path / "model").predict(mutag), clf.predict(mutag))
    match = clf.explain(mutag[0]).matches[0]
    assert match.ordered
    layer = isonn.nn.IsoLayer(3, 2, matching="sorted")
    windows = torch.randn(1, 3, 3)
    torch.testing.assert_close(
        layer.distances(windows).flatten(), SortedMatcher().distance(layer.templates, windows)[0]
    )


def test_an_unknown_matcher_names_the_known_ones():
    with pytest.raises(InputError, match="matching='magic' is unknown; use one of 'exact', 'fast', 'fast-authors'"):
        matcher_named("magic")


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_best_permutation_attains_the_distance(k, dtype, generator):
    template = torch.randn(k, k, dtype=dtype, generator=generator)
    region = torch.randn(k, k, dtype=dtype, generator=generator)
    p = best_permutation(template, region)
    attained = ((relabelled(template, p) - region) ** 2).sum()
    torch.testing.assert_close(attained, exact_distance(template[None], region[None])[0, 0])
    matrix = permutation_matrix(tuple(p.tolist()), dtype)
    torch.testing.assert_close(matrix @ template @ matrix.T, relabelled(template, p))


def test_the_best_permutation_finds_a_relabelling_again(dtype, generator):
    template = torch.randn(6, 6, dtype=dtype, generator=generator)
    order = torch.randperm(6, generator=generator)
    assert best_permutation(template, relabelled(template, order)).tolist() == order.tolist()
