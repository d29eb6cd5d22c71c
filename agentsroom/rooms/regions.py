"""The ids of what a stream changes on the rooms' pages; the templates take them from here."""

from enum import StrEnum


class Region(StrEnum):
    """One region of a page, replaced as a whole unless its messages say otherwise."""

    SUMMARY = "summary"
    ROOMS = "rooms"
    ROOM_LIST = "room-list"
    PAUSE = "pause"
    PAUSED = "room-paused"
    TIMELINE = "lease-timeline"
    HISTORY = "history"
    NO_MESSAGES = "history-empty"
    COMPOSE_PROBLEM = "compose-problem"
    RECIPIENTS = "recipients"
    WHO = "who"
    LEASES = "leases"
