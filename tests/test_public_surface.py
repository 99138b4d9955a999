"""What all estimators have in common in their signatures, and what public modules show."""

from __future__ import annotations

import importlib
import inspect

import pytest
from sklearn.utils import estimator_checks

import isonn
from isonn import baselines
from isonn.errors import MissingDependencyError

MODULES = [
    name
    for name in isonn.__all__
    if name.islower() and name not in ("as_graphset", "load", "load_model", "stream", "__version__")
]
#: scikit-learn's own checks that fit nothing; the others fit 2-D arrays, which are not graphs.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_get_params_invariance",
    "check_set_params",
    "check_parameters_default_constructible",
    "check_estimators_unfitted",
    "check_get_feature_names_out_error",
]


def estimators():
    for module in (isonn, baselines):
        for name in module.__all__:
            if name.endswith(("Classifier", "Regressor")):
                try:
                    yield getattr(module, name)
                except MissingDependencyError:
                    continue


@pytest.mark.parametrize("estimator", list(estimators()), ids=lambda estimator: estimator.__name__)
def test_arguments_after_the_first_two_are_keyword_only(estimator):
    parameters = list(inspect.signature(estimator).parameters.values())
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[2:])


@pytest.mark.parametrize("estimator", list(estimators()), ids=lambda estimator: estimator.__name__)
def test_every_argument_is_described(estimator):
    arguments = estimator.__doc__.partition("Args:")[2].partition("Attributes")[0].partition("Example:")[0]
    for name in inspect.signature(estimator).parameters:
        assert name in arguments.replace(",", " ").replace(":", " ").split()


@pytest.mark.parametrize("estimator", list(estimators()), ids=lambda estimator: estimator.__name__)
def test_scikit_learns_checks_pass(estimator):
    for name in CHECKS:
        if name == "check_get_feature_names_out_error" and not hasattr(estimator, "get_feature_names_out"):
            continue
        if check := getattr(estimator_checks, name, None):  # older versions of scikit-learn lack some
            check(estimator.__name__, estimator())


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_names_what_is_public(name):
    try:
        module = importlib.import_module(f"isonn.{name}")
    except MissingDependencyError:
        pytest.skip("an extra is missing")
    if module.__file__.endswith("__init__.py") and not hasattr(module, "__all__"):
        return  # a folder of modules
    for public in module.__all__:
        assert getattr(module, public).__doc__
        assert not inspect.ismodule(getattr(module, public))
