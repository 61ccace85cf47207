"""The parts of the admin client, by what they administer."""
