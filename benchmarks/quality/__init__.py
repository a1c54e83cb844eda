"""Quality: false alarms and recall on labelled data, planted episodes and made-up conversations."""
