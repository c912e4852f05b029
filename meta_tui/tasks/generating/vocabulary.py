"""Words for word sorting and sonnets, chosen by hand for this project.

Common English nouns, verbs and adjectives of 3 to 12 lower-case letters. WORDS stand by their
number of syllables, because a witness sonnet counts them. EXTRA serves sorting alone: its words
share their beginnings, which makes sorting harder. The members of a group of RHYMES have one
syllable and rhyme perfectly in every pronunciation.
"""

from __future__ import annotations

_ONE = """
arch badge bark beard bench blade blank blaze bloom board bold bolt bone book boot bowl brave bread brick
bridge brief broad broom brush bulb cage cake calm camp cane card cart cash chain chair chalk chart chess
chest chill chin chord clasp claw clay clerk cliff cloak clock cloth cloud clown coach coin cork crab
craft crane crisp crown crumb crust cube curve damp dance debt desk disk ditch dock dome dove draft dream
drum dust faint false farm fern field flag flame flask fleet flint flock flute foam fog forge fork fort
fox frame frost fruit gate gem ghost gift glass globe glove goat gold golf grain grape grass greed grin
guard guest guild harp harsh hawk herb hinge hoof hook horn hymn inch ink jar jaw joke judge juice jump
kite knife knot lamb lamp lance lark lathe leaf lens loaf lodge lunch lute maid mask mast maze milk mint
moat moss moth mud myth nail neck nest noise north nut oak oath palm patch path peach pearl pen pine pipe
pitch plank plant plum pond porch prince proud pulse purse quail quartz quilt raft ramp ranch reef ridge
ripe rope rust sage salt sand scale scarf scout shark sharp shelf shell shield shrub silk sketch skirt
slate sled smoke smooth snail soap soft spark spear sphere spice spine sponge spoon squid stage stamp
steam steel stem stone storm straw stream string stump swamp swan sword thorn thread throne thumb tooth
torch track trail trap trench tribe trout truck trunk tube twig valve vase vault veil verse vest vine
voice wasp wave wealth whale wheat wheel whip wing witch wolf wool wreath wrist yard yolk zinc
"""

_TWO = """
acorn actor amber anchor anvil apple apron arrow autumn awkward balance bamboo banner barley basket
beacon beaver bishop blanket blossom bottle brother bucket buckle butter button cabin cactus candle
canvas canyon captain carbon carpet castle cattle cavern cellar chapel cherry chimney cinder circle
citrus clever clover cobalt cobbler coffee comet compass copper coral corner cottage cotton cradle crater
cricket crimson crystal curtain cymbal dagger dancer desert dinner doctor dolphin dragon eagle easel
elbow ember engine fabric falcon farmer feather fiddle finger forest fortress fountain fragile freedom
garden garlic garment ginger glacier glimmer goblet granite gravel guitar gutter hamlet hammer harbor
harvest helmet hermit honest honey hunter igloo insect island ivy jacket jaguar jasmine jersey jungle
kennel kettle kingdom kitchen ladder lantern lather lawyer legend lemon leopard letter lizard lobster
locket lumber magnet maple marble market meadow mellow melon merchant mirror mitten monarch monster
morning motor mountain mustard needle nephew noble novel oboe olive onion orbit orchard otter oven oyster
paddle painter palace panther paper parrot pasture peacock pebble pencil pepper petal pewter picnic
pigeon pillow pilot pirate planet plaster pocket poet polish pony poppy porter powder prairie puppet
purple puzzle quiver rabbit raisin rapid raven ribbon riddle river robin rocket rubber saddle sailor
salad salmon sandal satin saucer scarlet shadow shallow silver singer sister slender slipper spider
spinach spiral squirrel stallion statue sugar summer sunrise tablet tailor temple thimble thunder tiger
timber tractor traitor treasure trumpet tulip tunnel turtle valley vanish velvet vessel village viper
vulture wagon walnut walrus weapon weaver whisper willow window winter wizard yellow
"""

_THREE = """
abandon acrobat adventure alphabet ambulance amethyst animal antelope apartment architect avenue bakery
balcony banana barbecue bicycle buffalo butterfly calendar canary capital caravan carnival carpenter
catalog cathedral celery century charity chimpanzee cinnamon citizen colony commander companion continent
cucumber cylinder daffodil delicate detective dinosaur disaster document domino elegant elephant emperor
energy envelope evergreen fantastic festival forever gallery gardener gasoline genuine gravity hamburger
handkerchief harmony holiday horizon hospital icicle improvement industry instrument internal juniper
kangaroo ladybug lavender lemonade liberty library lullaby magazine magical mandolin medicine melody
memory messenger microphone microscope minister molasses monument mosquito museum musician narrator
newspaper occupy orchestra oxygen parachute paradise pelican peppermint photograph pineapple porcelain
potato president professor pyramid raspberry remember satellite saxophone scenery sentinel skeleton
spaghetti submarine sycamore tapestry telephone telescope tobacco tomato tornado tropical umbrella
unicorn vacation valentine vanilla violin volcano wanderer waterfall yesterday
"""

_FOUR = """
accordion adversity agriculture alligator analysis aquarium astronomy binoculars caterpillar ceremony
community conspiracy dictionary economy elevator escalator geography helicopter humanity independent
intelligence introduction invisible kaleidoscope locomotive mahogany mathematics mechanical military
missionary navigator necessity observation operator original particular philosopher photography
pomegranate population preparation receptionist rhinoceros salamander sanctuary secretary security
superstition technology territory thermometer tranquility watermelon
"""

_EXTRA = """
abacus abbey abdomen abide ablaze abode abound above abrupt absent absorb abstract absurd abundant
academy accent accept acclaim account accuse achieve acoustic acquire acrylic adapt adhere adjacent
adjust admire adopt adorn advance adverb advise aerial afford aggregate agile airport alarm album alcove
alert algebra align alkaline allegro almanac almond altar alter altitude aluminum ambition ambush amiable
ample amplify amulet anagram analogy ancestor anchovy anecdote angular ankle annex announce antenna
anthem antique aperture aphid apology appetite applaud appoint apricot aquatic arbiter arcade archery
archive arctic arena argument arid armor aroma arrange arrest article artisan ascend asphalt aspire
assemble assign astonish asylum atlas atmosphere attach attempt attic auction auditor author avalanche
average awaken axle azure bachelor backpack bacteria bagel ballad ballast ballot bandage bandit banish
banquet barbed bargain barometer barrel barrier basalt basin battle bazaar beetle behave belfry benefit
bewilder biology biscuit blemish blister blizzard blunder bolster bonfire boulder boundary bracelet
bracket bramble bravado brisket bristle brittle brocade bronze budget bugle bundle buoyant bureau burlap
burrow cabbage cabinet cadence calcium calculate caliber camel campaign canal cancel candid candor canopy
cantor capable capsule caption capture caravel cardinal caress cargo caribou carnation carousel cascade
cashew casserole catapult category caution celebrate celestial cement census ceramic chamber chamomile
champion channel chaos chaperone character charcoal chariot charter chestnut chicken chisel chocolate
chorus chronicle circuit circulate circus claim clamor clarinet clarity classic clatter climate clinic
closet cluster coastal cocoon cohesion collage collar collect collide column combat combine comedy
comfort command comment commerce common compact compare compete compile complex compose compound comprise
compute conceal concept concert conclude concrete condense conduct confess confetti confide conflict
conquer consent console constant construct consult contact contain contest context contour contract
contrast convert convey convince cookie coordinate copious cordial corridor costume council count couple
courage courtesy coyote crayon credible crescent crevice critical crochet crossing crouch cruise crumble
cubicle culinary culture cupboard curator curious current cushion custard custody customer cyclone damage
dazzle debate decade decent decimal declare decline decorate dedicate deduct defend define degree deliver
delta demand denim depart depend deposit depth derive describe design desire despair destiny detail
detect develop device devote diagram dialect dialogue diesel differ digest dignity dilemma dimple diploma
direct discard discuss dismiss display dispute dissolve distance distill distort district diverse divide
docile domain donate dormant double drastic drawer drizzle dungeon durable dwindle dynamic factory
faculty famine fanfare fathom fatigue feasible federal fellow ferment ferry fiber fiction filter finale
finite flannel flatter flavor flicker flourish fluent folder follow fondue footage forage forbid forecast
foreign formal format formula fossil foster fragment frantic frequent friction frigate frontier frugal
fugitive fulfill function furnace furnish fusion futile garland gather gazelle general generate genius
gentle geology gesture geyser giant gingham giraffe glamour glitter gloomy glossary gondola gorilla
gossip gourmet gradient gradual grammar graphic gratitude grenade griddle gristle grocer grotto grumble
guarantee guardian habitat halibut halo handle happen harness hazard heather hedge herald heritage heron
hesitate hexagon hibernate hollow homage hornet horrible hostel hotel humble humid humor hurdle hurricane
hybrid hydrogen
"""

_RHYMES = """
night light bright sight flight height might white
day way say play stay gray sway
sea free tree bee key three
rain plain lane chain grain train
stone bone tone
air fair care share rare
sun run one
sky high lie dry why
song long strong wrong
bell tell well fell
king ring sing thing
blue true new view
ground sound found round
old cold gold told
hand land sand stand
face place grace space
time rhyme climb lime
heart part start art
deep sleep keep
dream stream gleam team
lake wake make shake
sail tale pale trail
hill still will
"""

WORDS: dict[int, tuple[str, ...]] = {
    1: tuple(_ONE.split()),
    2: tuple(_TWO.split()),
    3: tuple(_THREE.split()),
    4: tuple(_FOUR.split()),
}
"""Syllables -> words that have exactly so many."""

EXTRA: tuple[str, ...] = tuple(_EXTRA.split())

RHYMES: tuple[tuple[str, ...], ...] = tuple(tuple(line.split()) for line in _RHYMES.strip().split("\n"))
