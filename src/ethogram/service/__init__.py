"""The service: events in over HTTP, detections out, a dashboard to look at (`ethogram serve`)."""
