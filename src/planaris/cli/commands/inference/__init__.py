"""Commands that ask one question of a model, and the check of the answer."""
