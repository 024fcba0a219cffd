"""What a person does with an answer: plans, ranges, what to relax, which levers, what if.

Everything here asks the model again, within a budget; what it found is plain data in `ssba.answer`.
"""
