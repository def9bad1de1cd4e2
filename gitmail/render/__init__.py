"""Values to plain objects, to text for people, and to fenced text for models."""
