"""English function words: articles, pronouns, prepositions, conjunctions, auxiliaries, particles and the most common
adverbs, and the pieces of contracted forms that remain when the apostrophe separates tokens."""

WORDS = """
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
one ones oneself who whom whose which what whoever whatever whichever
someone somebody something anyone anybody anything everyone everybody everything nobody nothing none
and or but nor so yet for if then else because since as although though unless until till while whereas whether than
of in on at by with from to into onto unto upon within without about above below over under between among amongst
through throughout during before after against toward towards across along around behind beside besides beyond
despite down except inside outside near off out per regarding up via
am is are was were be been being
have has had having do does did doing done
will would shall should can could may might must ought need dare cannot
isn aren wasn weren haven hasn hadn don doesn didn won wouldn shan shouldn couldn mayn mightn mustn needn ain
not no nor never neither either both each every all any some few many much more most less least other others another
such own same several enough
here there where when why how wherever whenever however hence thus therefore thereby therein hereby whereby wherein
now again already also always even ever just only often once perhaps quite rather really seldom sometimes soon still
too very almost away back further furthermore indeed instead like likewise maybe meanwhile moreover mostly namely
nevertheless nonetheless otherwise elsewhere somewhere anywhere everywhere nowhere afterwards beforehand somehow
anyhow anyway thereafter together well
get gets got getting let lets make makes made making say says said go goes went going gone
two three four five six seven eight nine ten first second third
etc yes ll ve re
"""

ENGLISH = frozenset(WORDS.split())

# The most frequent function words of other languages, to notice texts that English stop words do not fit. Words that
# are frequent in English too are left out, such as "die", "as" and "in".
OTHERS = {
    "German": ("de", "der und das nicht ist ein eine zu den mit von auf für sich dem des auch es wir"),
    "French": ("fr", "le la les des et est une dans que pour pas du qui sur au ne ce avec"),
    "Spanish": ("es", "el los las del que una por para se lo su es más como y"),
    "Italian": ("it", "il di che della una sono del la con si nel anche dei gli più"),
    "Portuguese": ("pt", "os do da que não uma para com por mais dos ao se em"),
    "Dutch": ("nl", "de het een van en niet dat voor zijn op te ook aan wij"),
}
