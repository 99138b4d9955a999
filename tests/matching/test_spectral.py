from __future__ import annotations

import numpy as np
import pytest
import torch
from reference import distance_by_definition

import isonn
from isonn.errors import InputError
from isonn.matching import authors_fast_distance, fast_distance
from isonn.windows.cut import cut_windows


def symmetric(count, k, generator, dtype=torch.float64):
    matrices = torch.randn(count, k, k, dtype=dtype, generator=generator)
    return matrices + matrices.mT


def paper_equation(template, region):
    """P = |U_M| |U_K|' and the distance it gives, as the paper prints it."""
    u_m = np.linalg.eigh(region)[1]
    u_k = np.linalg.eigh(template)[1]
    p = np.abs(u_m) @ np.abs(u_k).T
    return ((p @ template @ p.T - region) ** 2).sum()


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_symmetric_input_gives_the_formula_of_the_paper(k, generator, dtype):
    templates, regions = symmetric(3, k, generator), symmetric(5, k, generator)
    expected = [[paper_equation(t, r) for t in templates.numpy()] for r in regions.numpy()]
    found = fast_distance(templates.to(dtype), regions.to(dtype))
    tolerance = 1e-5 if dtype is torch.float64 else 1e-3
    np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_other_regions_use_the_eigenvectors_of_their_hermitian_form(generator):
    template, region = symmetric(1, 4, generator)[0], torch.randn(4, 4, dtype=torch.float64, generator=generator)
    hermitian = ((region + region.T) + 1j * (region - region.T)).numpy() / 2
    np.testing.assert_allclose(np.linalg.eigvals(hermitian).imag, 0, atol=1e-12)
    p = np.abs(np.linalg.eigh(hermitian)[1]) @ np.abs(np.linalg.eigh(template.numpy())[1]).T
    expected = ((p @ template.numpy() @ p.T - region.numpy()) ** 2).sum()
    assert fast_distance(template[None], region[None]).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("k", [3, 5])
def test_the_orthogonal_minimum_is_the_sum_of_squared_eigenvalue_differences(k, generator):
    """Umeyama's theorem, on which IsoNN-fast rests; permutations are orthogonal, so it bounds the exact distance."""
    template, region = symmetric(1, k, generator)[0], symmetric(1, k, generator)[0]
    values_k, vectors_k = torch.linalg.eigh(template)
    values_m, vectors_m = torch.linalg.eigh(region)
    bound = (values_k - values_m).square().sum()
    orthogonal = vectors_m @ vectors_k.T
    torch.testing.assert_close((orthogonal @ template @ orthogonal.T - region).square().sum(), bound)
    for _ in range(200):
        other = torch.linalg.qr(torch.randn(k, k, dtype=torch.float64, generator=generator)).Q
        assert (other @ template @ other.T - region).square().sum() >= bound - 1e-9
    assert distance_by_definition(template[None], region[None]).item() >= bound - 1e-9


def test_the_gradient_holds_p_constant(generator):
    templates = torch.randn(2, 3, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    regions = torch.randn(4, 3, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    fast_distance(templates, regions).sum().backward()
    with torch.no_grad():
        expected_templates, expected_regions = torch.zeros_like(templates), torch.zeros_like(regions)
        for i, template in enumerate(templates):
            for w, region in enumerate(regions):
                hermitian = [torch.complex(x + x.T, x - x.T) / 2 for x in (region, template)]
                u_m, u_k = (torch.linalg.eigh(h).eigenvectors.abs() for h in hermitian)
                p = u_m @ u_k.T
                difference = p @ template @ p.T - region
                expected_templates[i] += 2 * p.T @ difference @ p
                expected_regions[w] -= 2 * difference
    torch.testing.assert_close(templates.grad, expected_templates)
    torch.testing.assert_close(regions.grad, expected_regions)


def test_equal_eigenvalues_give_finite_and_repeatable_distances(dtype):
    regions = torch.stack([torch.zeros(4, 4), torch.eye(4), torch.ones(4, 4), 1 - torch.eye(4)]).to(dtype)
    templates = torch.stack([torch.eye(4), torch.zeros(4, 4)]).to(dtype).requires_grad_()
    distances = fast_distance(templates, regions)
    distances.sum().backward()
    assert distances.isfinite().all()
    assert templates.grad.isfinite().all()
    torch.testing.assert_close(fast_distance(templates, regions), distances, rtol=0, atol=0)


def test_nan_and_complex_input_are_refused():
    good = torch.zeros(1, 2, 2)
    with pytest.raises(InputError, match="regions contain NaN or infinity"):
        fast_distance(good, torch.full((1, 2, 2), float("nan")))
    with pytest.raises(InputError, match=r"templates are torch.complex64; convert them to float32"):
        fast_distance(good.to(torch.complex64), good)


def authors_equation(template, region):
    """The computation of the authors' published code: absolute eigenvectors of NumPy's eig, in its order."""
    p = np.abs(np.linalg.eig(region)[1]) @ np.abs(np.linalg.eig(template)[1]).T
    return ((p @ template @ p.T - region) ** 2).sum()


def distinct_eigenvalues(regions):
    values = np.linalg.eigvals(regions)
    apart = np.abs(values[:, :, None] - values[:, None]) + 10 * np.eye(regions.shape[-1])
    return apart.min(axis=(1, 2)) > 1e-3


def brain_like(generator, count=6, n=20):
    """Correlation matrices without a diagonal, as HIV-fMRI has them."""
    signals = torch.randn(count, n, 40, generator=generator)
    found = torch.stack([torch.corrcoef(x + x.mean(0)) for x in signals])
    return found - torch.diag_embed(found.diagonal(dim1=1, dim2=2))


@pytest.mark.parametrize(("data", "k"), [("molecules", 4), ("molecules", 3), ("brains", 2), ("brains", 4)])
def test_fast_authors_is_what_the_authors_code_computes(data, k, generator):
    adjacency = torch.from_numpy(isonn.load("MUTAG")[:20].dense(28)) if data == "molecules" else brain_like(generator)
    regions = cut_windows(adjacency, k).reshape(-1, k, k)
    regions = regions[torch.from_numpy(distinct_eigenvalues(regions.numpy()))][:400]
    assert len(regions) > 50
    templates = torch.randn(2, k, k, generator=generator)
    expected = [[authors_equation(t, r) for t in templates.numpy()] for r in regions.numpy()]
    np.testing.assert_allclose(authors_fast_distance(templates, regions), expected, rtol=1e-5, atol=1e-5)


def test_the_two_readings_of_fast_agree_on_matrices_of_one_node_and_differ_on_windows(generator):
    one = torch.randn(2, 1, 1, generator=generator)
    torch.testing.assert_close(authors_fast_distance(one, one), fast_distance(one, one))
    templates, regions = torch.randn(1, 4, 4, generator=generator), torch.randn(50, 4, 4, generator=generator)
    assert (authors_fast_distance(templates, regions) - fast_distance(templates, regions)).abs().min() > 1e-3
