"""What is asked: any model as three questions, the counter in front of it, and targets."""
