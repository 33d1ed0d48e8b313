"""Every method of inference as one object in one registry."""

from planaris.methods.registry import Method, Question, find_method, method_names, methods

__all__ = ["Method", "Question", "find_method", "method_names", "methods"]
