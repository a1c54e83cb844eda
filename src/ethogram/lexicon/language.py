"""Whether a text is in a language of the lexicon, which is English.

A text with two of the commonest English words is English. Another Latin text counts as English unless small
words of other languages outnumber the English ones. A text in another script is not English, unless its
letters are look-alikes and its small words English.
"""

from __future__ import annotations

import re

from .normalize import Folded

SAMPLE = 400  # characters that decide
MORE_FOREIGN = 2  # least number of small words of other languages that make a text foreign

_ENGLISH = frozenset(
    b"""the of and to in is that it for you was with on are be this have from or had by but not what all
    were we when your can said there use an each which she do how their if will up other about out many
    then them these so some her would make like him into time has look more write go see no way could
    people my than first been who its now find down did get come made may they i'm don't it's you're
    just our because here only think know good very after should being where why does any most also even
    me as at us he his really""".split()
)
# Frequent words of other languages that are none in English.
_OTHERS = frozenset(
    b"""el los las una unos del que por para con su sus pero como mas esta este esto eso muy tambien hay ser
    estan porque cuando donde quien nos todo todos sin sobre entre hasta desde yo mi es lo se le ya si
    os uma umas do da dos das nao um em no na nos nas ao aos pelo pela isso isto voce ele ela eles mas muito
    tambem sao foi tem meu minha seu sua ou quando onde quem
    le les des du une est et dans pour pas qui sur avec ce cette ces il elle nous vous ils sont au aux mais
    je tu ne plus tout tous etre avoir fait comme ou donc leur leurs meme tres aussi votre notre mon ma
    der die das und ist nicht ein eine einen einem einer zu mit auf fur von dem den des im ich sie wir ihr es
    auch wie aber oder wenn nur noch nach bei aus kann wird sind hat haben sich als uber mein dein sein werden
    il lo gli della dei delle che di non per con una sono come piu anche ma questo questa nel nella alla ho
    ha hanno mi ti ci si e perche quando
    de het een van en dat niet op te zijn voor met aan er maar om ook als dan bij nog wel naar deze dit wij
    jij hij zij ik je
    yang dan di untuk dengan tidak ini itu dari pada adalah akan juga saya kamu kami kita ke bisa ada sudah
    atau karena seperti lebih
    bir ve bu icin ile cok daha gibi ben sen biz ne var degil olarak ama kadar
    nie jest sie na do to ze jak ale czy tak juz tylko przez jako dla od za po sa
    och att det som en pa ar av for med till inte har jag du vi den ett om men
    ja on ei se mutta kun niin han ovat
    va cua la khong co mot nhung cho toi ban nay duoc trong cac""".split()
) - frozenset(
    b"do no on to as he me in die is so of a e es se en an it over do men for i na mas ma pas y o si den par"
    b" har sent con come la du van ban dan sin son ones per sur sure tout toi dos ha im om la le de".split()
)
_SURELY_ENGLISH = (b" the ", b" and ", b" you ", b" that ", b" with ", b" this ")
_WORDS = bytes.maketrans(b'.,;:!?()[]{}"|#/<>=+&%`', b"                       ")
# Letters of scripts other than Latin, without fullwidth and mathematical forms.
_FOREIGN = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0530-\u1cff\u2c00-\u2c5f\u2d00-\u2ddf\u3040-\u30ff\u3100-\u9fff"
    "\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufb1d-\ufdff\ufe70-\ufeff\U00020000-\U0003ffff]"
)


def language_of(folded: Folded) -> str | None:
    """'en', or None for a language that the lexicon does not know; short Latin texts count as English.

    >>> from .normalize import fold
    >>> language_of(fold("Act now!")), language_of(fold("¿Por qué no lo dices con tu nombre, para todos?"))
    ('en', None)
    """
    sample = folded.text[:SAMPLE]
    # A quick check that decides for most texts.
    surely = 0
    for word in _SURELY_ENGLISH:
        if word in sample:
            surely += 1
            if surely == 2:
                return "en"
    words = sample.translate(_WORDS).split()
    english = sum(map(_ENGLISH.__contains__, words))
    if 4 * english >= len(words) and words:
        return "en"
    if 6 * english < len(words) and _is_foreign(folded.original[:SAMPLE], words):
        return None
    others = sum(map(_OTHERS.__contains__, words))
    return None if others >= MORE_FOREIGN and others > english else "en"


def _is_foreign(sample: str, words: list[bytes]) -> bool:
    """Whether letters of other scripts prevail."""
    foreign = 0 if sample.isascii() else len(_FOREIGN.findall(sample))
    # Scripts without spaces write a word in two or three letters, Latin ones in five.
    return foreign > 0 and 2 * foreign > sum(map(len, words)) - foreign
