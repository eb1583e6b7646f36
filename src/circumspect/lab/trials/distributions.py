"""Tails of Student's t and of chi-square: a statistic in, a probability out.

The standard library has the normal distribution and no other; these two are short enough to have here, and a numerical
package would be the heaviest thing we install. Both expand a continued fraction (modified Lentz), as the textbooks do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from statistics import NormalDist

NORMAL = NormalDist()
_TINY = 1e-300
_PRECISION = 1e-15
_LARGE = 1e7
"""Degrees of freedom from which on Student's t is the normal distribution to more digits than anybody prints."""


def student_two_sided(t: float, freedom: float) -> float:
    """How likely a value at least this far from 0 is, on either side."""
    if freedom > _LARGE:
        return normal_two_sided(t)
    square = t * t
    return _regularised_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square))


def student_quantile(alpha: float, freedom: float) -> float:
    """The value that is exceeded on either side with probability alpha."""
    if freedom > _LARGE:
        return normal_quantile(alpha)
    low, high = 0.0, 2.0
    while student_two_sided(high, freedom) > alpha:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_two_sided(middle, freedom) > alpha else (low, middle)
    return (low + high) / 2


def normal_two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


def normal_quantile(alpha: float) -> float:
    return -NORMAL.inv_cdf(alpha / 2)


def chi_square_above(value: float, freedom: int) -> float:
    """How likely a value at least as large is: the regularised upper incomplete gamma function."""
    if value <= 0:
        return 1.0
    a, x = freedom / 2, value / 2
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in count(1):
            term *= x / (a + n)
            total += term
            if term < total * _PRECISION:
                break
        return 1 - front * total
    terms = ((-n * (n - a), x + 2 * n + 1 - a) for n in count(1))
    return front / _evaluate_fraction(x + 1 - a, terms)


def _regularised_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b); `rest` is 1 - x, given apart because the difference would lose its digits."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return front / (a * _evaluate_fraction(1.0, _beta_terms(a, b, x)))
    return 1 - front / (b * _evaluate_fraction(1.0, _beta_terms(b, a, rest)))


def _beta_terms(a: float, b: float, x: float) -> Iterator[tuple[float, float]]:
    for m in count():
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
        n = m + 1
        yield n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)), 1.0


def _evaluate_fraction(first: float, terms: Iterator[tuple[float, float]]) -> float:
    """first + a1 / (b1 + a2 / (b2 + …))"""
    value = first or _TINY
    upper, lower = value, 0.0
    for a, b in terms:
        lower = 1 / (b + a * lower or _TINY)
        upper = b + a / upper or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISION:
            break
    return value
