"""The graph that autograd recorded, as a picture and as text."""

from backpass.graph._graph import Graph, draw

__all__ = ["Graph", "draw"]
