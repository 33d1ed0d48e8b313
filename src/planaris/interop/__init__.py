"""Frameworks that call the verbs: samplers for dimod, differentiable log Z for torch.

Each module needs its own optional package and is imported by name, never by ``import planaris``.
"""
