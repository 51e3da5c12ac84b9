"""Sentences made up from a word list, for models of language and speech."""
SUBJECTS = """the old captain|a tired nurse|our neighbour's cat|the city council|my youngest sister|a flock of geese|the software team
the violin teacher|an honest merchant|the night train|several researchers|the mountain guide|a curious child|the new bakery
the defence lawyer|an empty stadium|the river|this battery|the orchestra|a broken printer|the gardener|two astronauts""".replace("\n", "|").split("|")
VERBS = """repaired|forgot about|was waiting for|carefully measured|sold|photographed|argued over|could not find|has described|painted
dreamed of|replaced|examined|delivered|complained about|finally understood|borrowed|is looking after|mistook|crossed""".replace("\n", "|").split("|")
OBJECTS = """the wooden bridge|a letter from Lisbon|seven litres of milk|the quarterly figures|an unusual melody|the lighthouse
a pair of red shoes|the vaccination plan|last year's harvest|the compiler's warnings|a map of the harbour|fresh bread
the patient's blood pressure|three tickets to the final|an old theorem|the kitchen window|a rumour about taxes|solar panels""".replace("\n", "|").split("|")
PLACES = """in the early morning|behind the railway station|before the storm arrived|without telling anybody|at the edge of the forest
during the second half|for less than forty euros|on the third floor|while the music was playing|in spite of the heavy rain
after a long meeting|under the supervision of an expert|near the equator|as quickly as possible|for the first time in ten years""".replace("\n", "|").split("|")
LINKS = ["and", "but", "because", "although", "so", "while", "until"]
QUESTIONS = ["who", "why do you think that", "is it true that", "how can anyone say that", "when did you hear that"]


def clause(rng):
    words = f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}"
    return words if rng.random() < 0.3 else f"{words} {rng.choice(PLACES)}"


def sentence(rng):
    kind = rng.random()
    if kind < 0.08:
        return f"{rng.choice(OBJECTS)} {rng.choice(PLACES)}"
    text = clause(rng)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3])):
        text += f", {rng.choice(LINKS)} {clause(rng)}"
    if kind < 0.25:
        return f"{rng.choice(QUESTIONS)} {text}?"
    return text[0].upper() + text[1:] + "."
