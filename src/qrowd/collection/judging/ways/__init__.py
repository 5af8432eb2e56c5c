"""Ways of judging, one file for each or for kin; see `plan.way`."""
