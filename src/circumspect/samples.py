"""The sample shops under the short name that examples use: `circumspect.samples.load("orders")`."""

from circumspect.demo.samples import load, names

__all__ = ["load", "names"]
