"""What the tests share: models, graphs, strategies, commands; one of each."""
