"""What pieces of text cost in tokens: rates fitted to exact counts by the o200k vocabulary.

Fitted by least deviance to the pieces of about 8 million tokens of public text: programs in 20 languages, manuals and help pages in
60 human languages, markup, logs and tables, and generated base64, hex, identifiers and emoji; rates of scripts were then moved towards those
of everyday talk. `python -m benchmarks.tokens` prints how near they come. Prices are in thousandths of a token.
"""

from __future__ import annotations

TOKEN = 1_000
"""The price of one token."""

LEAN = 5
"""Per cent that is added to the fitted price of longer texts, so that a sum of them leans to the safe side."""

LEAN_FROM, LEAN_SOONEST = 1_800_000, 15
"""The price from which on it is added, and the per cent of what lies above that is added at most, so that prices rise without a step."""

BEND = 300_000
"""How softly scores bend at 0: a word of score s costs (s + sqrt(s * s + BEND)) / 2 above its first token."""

JOINTS = {" ": (0, 0, 0), "": (406, 0, 25), **dict.fromkeys("_.)(\\%&", (585, 20, 40)), **dict.fromkeys("/-@\t,'=:;+[<*?", (1_253, 80, 120))}
"""What the character a word hangs on adds: to the score of a rare word; to the price of a common one, and for each letter of it from the fifth on."""

OTHER_JOINT = (1_822, 700, 80)
"""The same for any other character."""

CLIPPED = (590, 350)
"""What an ending like 's or 'll adds: to the score of a rare word, to the price of a common one."""

ALIKE = 8
"""How many of one letter in a row share a token."""

LATIN_LETTERS = "abcdefghijklmnopqrstuvwxyz~^ "
"""Rows and columns of LATIN_PAIRS: `~` is any other letter, `^` one of Vietnamese, a space the edge of the word."""

LATIN_PAIRS = """
kfgdlheeehheefkeiegegikfgijjh
gilnflkkedfdkjjlohhlfmjminjfg
gmekfljedicemmeikfmdenloihhli
gjmgeklkejikdifpmhilhejkjgkjg
fhgeigghgikhfdggidffhgediiiig
hlklgheneojgijemmfogfmiiimhig
ikloe1ighigi5ihkpfjkgllnlglph
fjimemjlgkjjkffjjfmcgikjiiiig
gdeggdfijggehdcehffeldjilegfk
flmhgnkkfkglnhjhllfmhlknkmijj
hfjjgldgfjhijkhknlffjjimkmikg
ejkheiggejiefjegligffhimdljkg
edikekhlfkkfckechlimimeokkihh
gmfehhdhhiihqgiinlfdggikijihf
ffgfhgekigfjhcdencggeheejkifh
ggkjflkbjlkdkjekldjgg9hhhmiji
jmimnonninpbknkkknkibnonoojih
fjhifghjgjgjggfghghhjgmaijjhh
higkelhifjkkjkfdjkceeihpgjgnf
fihleijbdlhhikfkmdihhkgkchgig
fgggfgdkfkgggdlgocgdhfjijhhgj
hojgenimglk7kldgohmlinkmlkhfg
eokgfnmgdmlkmdbjoiflimjjjojhi
kghikkpljlom9kldmkkflmngjokjg
flkkimmlhkjmkihfmjfkjkjlghh9f
hmikflklgkmnkhjkmmokgmhlhiiii
llfjiejgmlkiigdjfhijljmiikhak
ffhhiiiiejjikkhhigjgbiiioiiil
ggfegghhhhijhgighhgigggijijji
"""
"""What two neighbours add to a word's score: the digit d of base 36 in the row of the first adds (d - 12) * 100."""

LATIN_CASES = {"lower": -2_461, "capital": -2_040, "upper": -2_074, "mixed": -1_582}
"""What the score of a Latin word starts from, by how the word is written."""

CYRILLIC_LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя~ "
"""Rows and columns of CYRILLIC_PAIRS, with `~` and the space as above."""

CYRILLIC_PAIRS = """
lgfgjdkhcffgfekjgjemiigedhaheeihjd
jk7fkheliedilhfeglice4hpkeb9eheijg
fi0ilhjjhebemegkjdbeemffiamehiehnc
jgkn8meefejkulfff9mfeefeeekjehfeei
gjhjdfhheeaagfdchcphhffhjefifjfhnd
oeigdffhhghebdkheceofggjjgeeeegnlc
j9g9begehejiebfkfeqfeeggeeekgeeene
ffhhfmefiegfegdkeahjeeeaiefapegigb
cfhfkcmfcgjgef9gigeifgedikeheed9hd
delgfajf8e89mejfkbjee9qkheejeeei8c
fjsegl27eegkpeeekbeeej4oi8ljeogemd
gfqcgd9jfeiieeglfgkirffpheikcihfgd
fifn9fgeieif4jddsjleeighaeieeoeamf
gdoifikkfegcdcfffgch1ikhg9efidfmre
nbfdgidfgghffhnfhfbkiifhbfeee7ljjb
fjeehgeeceeieffafmjjeejgiejhhhejoa
fifhjfcqfeeidhel9hheljwmjeq8gfkgjb
flfddhledigeiiefi9cikffgceldidmehc
gidmjhffgejjhhflebhfgijhjhlgcmfjjd
figbhfieigiieglgmdihnlockbeqekbgig
heeeegeefeekgfbeifncdeeeeeeyeeeemf
iejhdmeegeeekbdehgmcmeejeetiece8gd
ih9ifgeeielbffkhmeteeecegepidnhjik
eooeeeeegejfeigebfgqeeiefeljfkeejh
haeeefeedelmfdkmcekjfeejeeekeeheie
jeceeieeheeeekdeeeejeeeeeeee2eeeef
fkgjhmekeehl9ihkibcteefceheeeeelsh
eejgofeiegghhoeckjheidlineeeeeeo8d
epckmie0feane6jgefceeefe8eedeeajhc
eedgkhekegjgjgehin9eajheeeeee9eeem
e8ffbehgefhrioeejhdnee9afdeeeeheig
eefll8lemfehfgebqzefeedkggeeeefgfb
igmrflgdlqikkjiijnljirtfbffeeehhff
cbcfedfdddchdbfdbccdghjcgkehf9ffge
"""
"""What two neighbours add to a word's score, as above."""

CYRILLIC_CASES = {"lower": -1_380, "capital": -730, "upper": 0, "mixed": 0}
"""What the score of a Cyrillic word starts from."""

SCRIPTS = (
    (0x0080, 0x02FF, 300, 400),  # Latin, where it stands among other letters; phonetic signs
    (0x0300, 0x036F, 300, 600),  # accents
    (0x0370, 0x03FF, -1_600, 505),  # Greek
    (0x0400, 0x052F, -700, 450),  # Cyrillic, where it stands among other letters
    (0x0530, 0x058F, -800, 400),  # Armenian
    (0x0590, 0x05FF, -1_280, 500),  # Hebrew
    (0x0600, 0x065F, -1_460, 420),  # Arabic
    (0x0660, 0x06FF, -1_460, 1_250),  # letters that other languages add to Arabic
    (0x0700, 0x08FF, 0, 1_500),
    (0x0900, 0x097F, -1_150, 410),  # Devanagari
    (0x0980, 0x09FF, -1_150, 440),  # Bengali
    (0x0A00, 0x0A7F, -630, 660),  # Gurmukhi
    (0x0A80, 0x0AFF, -1_790, 570),  # Gujarati
    (0x0B00, 0x0B7F, -500, 800),  # Oriya
    (0x0B80, 0x0BFF, -300, 295),  # Tamil
    (0x0C00, 0x0C7F, -450, 460),  # Telugu
    (0x0C80, 0x0CFF, -80, 360),  # Kannada
    (0x0D00, 0x0D7F, -540, 410),  # Malayalam
    (0x0D80, 0x0DFF, -500, 800),  # Sinhala
    (0x0E00, 0x0E7F, -1_080, 450),  # Thai
    (0x0E80, 0x0FFF, 0, 1_300),  # Lao, Tibetan
    (0x1000, 0x109F, -1_230, 700),  # Burmese
    (0x10A0, 0x10FF, -800, 390),  # Georgian
    (0x1100, 0x11FF, 0, 3_000),
    (0x1200, 0x137F, 0, 1_600),  # Ethiopic
    (0x1780, 0x17FF, -200, 590),  # Khmer
    (0x1E00, 0x1EFF, 300, 700),  # Latin of Vietnamese, where it stands among other letters
    (0x1F00, 0x1FFF, -1_000, 1_500),  # Greek with accents
    (0x3005, 0x309F, -760, 660),  # Hiragana
    (0x30A0, 0x30FF, -700, 690),  # Katakana
    (0x3100, 0x31FF, 0, 2_000),
    (0x4E00, 0x9FFF, -770, 740),  # Chinese
    (0xAC00, 0xD7AF, -900, 670),  # Korean
    (0xFE00, 0xFE0F, 0, 0),  # signs that choose a picture's look
    (0xFE70, 0xFEFF, 0, 1_900),
    (0xFF00, 0xFFEF, -800, 1_500),
)
"""First and last character, what the score of a word that begins so starts from, what each letter adds."""

ASCII_LETTER = 280
"""What an ASCII letter adds in a word of another script."""

OTHER_SCRIPT = (0, 3_000)
"""What the score starts from, and what each letter adds, in a script that is not listed, in the Basic Plane."""

ASTRAL_SCRIPT = (0, 3_900)
"""The same beyond the Basic Plane."""

PERSIAN = "پچژکگیئۀ"
"""Letters Persian adds to Arabic."""

PERSIAN_LETTER = 600
"""What each of them adds."""

TRADITIONAL = (
    "這個們來說時會對為學國過後種麼開樣還沒見發當現從動實點問經將與業關無體應話題電機東車長門間風頭兩幾處書進運軍產區專務員則歲師設變數據"
    "檔環執連結選項標記錄類網絡統計單義級節約給絕續繼維線紅純細終組總編寫讀認識議論語誤請證調談護讓負責買賣費質資賽輸轉較輕載農達遠適邊鄉"
    "醫釋錯鏡錢鐵鎖陽陰際隨險難離雙雜雲霧靈靜頁順須預領顯願顧飛館騎驗驚魚鳥麗齊龍"
)
"""Frequent Chinese characters that only the traditional script has."""

TRADITIONAL_LETTER = 1_360
"""What each of them adds."""

RARE = (("\u0250", "\u02ff", 1_700), ("\u0300", "\u036f", 1_900), ("\u4e00", "\u9fff", 1_950), ("\uac00", "\ud7a3", 2_250))
"""First and last character of a script with many rare letters, and what each of these adds: they share a token with no other."""

ACCENTS = "\u0300\u0301\u0302\u0303\u0306\u0308\u0309\u030a\u030c\u0323\u0327\u032d"
"""The accents that are one token each."""

COMMON_LATIN = "ĀāĂăĄąĆćĈĉċČčďĐđēėĘęěĝĞğġģħĩīįİıĵķĺļľŁłŃńņňŋōŐőŒœŘřŚśŝŞşŠšŢţťŨũūŭůűųŵŷŸŹźŻżŽžſƏƐƒƙƠơƯưǎȘșȚțɑɓɔɗəɛɵʻʼˆ˚˜˝"
"""Letters of Latin beyond the Western languages that are one token each."""

RARE_LATIN, MISREAD = 800, 700
"""What each other one adds, and what each letter beyond ASCII adds behind two of them."""

JOINT_OF_LETTERS = 1_020
"""What an ASCII character other than a space adds in front of such letters."""

SINGLE_MARKS = "‘’“”„–—…•·→←↑↓✓✅★●○■□▪│─├═║█░、。「」『』【】《》〈〉（），．：；！？～￥€£¥°±×÷§©®™«»¿¡´¨¬¶¢¹²³½¼¾・′″✨❤\u200b\u200d\ufffd،؛؟۔।॥०१२३४५६७८९٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹"
"""Marks beyond ASCII that are one token each."""

MARKS = (
    (0x009F, 1_900),
    (0x00FF, 1_000),
    (0x07FF, 1_400),
    (0x27BF, 2_000),
    (0x2FFF, 3_000),
    (0x303F, 1_500),
    (0xD7FF, 2_800),
    (0xFE6F, 3_000),
    (0xFFFF, 1_200),
    (0x1F1FF, 2_600),  # tiles, letters in boxes, flags
    (0x1F5FF, 1_950),  # pictures
    (0x1F64F, 1_650),  # faces
    (0x1FAFF, 2_450),
    (0x10FFFF, 3_900),
)
"""The last character of a range, and the price of any other mark in it."""

DRAWN = (0x2190, 0x27BF)
"""First and last of the arrows, lines, blocks and shapes: these share no token with a line break behind them."""

CORNERS = "─┌┐└┘├┤┬┴┼╭╮╰╯━═╔╗╚╝╠╣╦╩╬"
"""Lines and corners that share no token with a space before them either."""

TOGETHER = dict.fromkeys("─□━═", 8) | {"█": 4} | dict.fromkeys("▄■▬", 2)
"""Lines and blocks of which several in a row share a token, and how many do."""

ASCII_TOGETHER = dict.fromkeys("|,'\"()$\\", 4) | dict.fromkeys("`&{}[]", 2)
"""ASCII marks that share tokens only with few of their kind, and how many do."""

COMMON_MARKS = r"""
\":\" \",\" "{\" }," [{" ?", !", (\" =\" .\" "/> \"]
"," ":" \": \",\ ":{" \"\ ":[" "], \", \"> \") "}, }], }, [], {}, {}\ "},{" }) }}, ":"","
[]; (); (): (), (). (){ ()\ () ()` ()), ()); }); "); "), "). "): "} ')" ') '); '), '). '): '," '] ']) '], "] "]) ]); ]), ]). ]: ]): }), })); ")); ")), '));
></ ">< "></ .</ )</ "> "/ /> ="# ='# =" =' ="/ ="$ ="{ ${ "${ }${ (${ =$( $( }/${ `${ /${ }_${ ("${ ="../ ="../../ "../ "../../ ("../ "./ '../ './ ("/
.) .), .). .", .") ."" .' `]( `). `, `: -*- <!-- --> ->{ -> => !(" ("\ ('\ ('- ("< (" (' [" [' {" {' )) ))) :// ~/. /*. :** */ /** )' }/
"""
"""Marks beside each other that are one token together, in programs and data."""

FIRST_CHANGE = 800
"""What the third run of one character adds among ASCII marks that are no common ones."""

LONERS, LONER = "^~@%&|", 500
"""Marks that seldom share a token with others, and what each run of them adds beside others, two runs at most."""

BESIDE, LONG_RUN = 600, 5
"""What a run adds that is longer than four marks and stands beside others."""

CHANGE = 450
"""What each further run adds."""

FEW, SOUP = 2, 650
"""How many further runs add so much, and what each beyond them adds: few marks stand so between others that share tokens."""

REPEAT = 12
"""What each repetition of a mark adds."""

WINDOWS_BREAK = "\v"
"""What stands for a line break of two characters while white space is priced; the sign itself is white space that nobody writes."""

USUAL_BLANKS = " \t\n\v"
"""White space that mostly shares a token with another kind beside it."""

BLANKS_TOGETHER = {" ": 80, "\n": 16, "\t": 16, WINDOWS_BREAK: 4, "\r": 2, "\xa0": 8, "\u3000": 16}
"""How many of a kind of white space in a row share a token; of any other kind none do."""

BLANKS = {"\x85": 2_000}
"""What a token of a kind of white space costs where it is more than one."""
