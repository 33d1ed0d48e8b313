"""Checks results and certificates; shares no code with the solvers."""

from planaris.verify.tjoin import verify_perfect_matching as verify_perfect_matching
from planaris.verify.tjoin import verify_tjoin as verify_tjoin
