"""The git repository as a transactional store; knows records, not what they mean."""
