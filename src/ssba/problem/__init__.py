"""What is asked: features, targets, constraints, and the model as a question with yes or no as answer."""
