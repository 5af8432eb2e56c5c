"""A study at Prolific: made, listened to, told what the campaign decided."""
