"""Who answers: the models, how they are reached, and what their failures mean."""
