"""Detection rules over single events, evaluated while a commit is prepared.

    sigma/     text       -> Rule        parses rules, and explains why a rule cannot be loaded
    nodes      condition  as frozen nodes
    anchors    condition  -> literals    texts that every matching event contains
    prefilter  literals   -> candidates  rules that need verification for an event
    verify     condition  -> predicate   whether an event matches, and the values that matched
    expression condition  -> expression  the condition as a single Python expression
    views      Record, outcomes -> Event the fields that rules can test
    rule_set   rules + event -> Hit      combines the modules above

Pure: no I/O, no clock, no settings.
"""
