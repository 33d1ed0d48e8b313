"""Foreground and background of images: from strokes, from a box, or from grey values alone."""

from planaris.learn.segmentation.images import Segmentation, segment_image

__all__ = ["Segmentation", "segment_image"]
