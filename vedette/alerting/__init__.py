"""How what was found becomes alerts, messages and answers: detections are written once, whatever
happens between two steps."""
