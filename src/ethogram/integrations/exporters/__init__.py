"""Exporters: detections as scores in tools that show traces."""
