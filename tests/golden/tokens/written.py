"""Texts that this project wrote itself, one of each class the counter tells apart; `counts.json` holds their exact o200k counts."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from pathlib import Path

PROSE = {
    "english": (
        "The ferry leaves at half past six, so we should be on the quay a little earlier. Last year the queue reached the bakery, and half of the "
        "passengers had to wait for the next boat. I packed sandwiches, a thermos of tea and the blue raincoat you left at my place in March. If the "
        "weather holds, we could walk along the cliffs to the lighthouse and come back through the village; the whole round takes about four hours. "
        "Did your sister decide whether she wants to join us? Tell her that the path is steep in two places but never dangerous."
    ),
    "german": (
        "Die Fähre legt um halb sieben ab, deshalb sollten wir etwas früher am Kai sein. Im vergangenen Jahr reichte die Schlange bis zur Bäckerei, und "
        "die Hälfte der Fahrgäste musste auf das nächste Schiff warten. Ich habe belegte Brote, eine Thermoskanne Tee und den blauen Regenmantel "
        "eingepackt, den du im März bei mir vergessen hast. Wenn das Wetter hält, könnten wir über die Klippen zum Leuchtturm wandern und durch das "
        "Dorf zurückkehren; die ganze Runde dauert ungefähr vier Stunden."
    ),
    "french": (
        "Le bac part à six heures et demie, nous devrions donc arriver un peu plus tôt sur le quai. L'année dernière, la file allait jusqu'à la "
        "boulangerie et la moitié des passagers a dû attendre le bateau suivant. J'ai préparé des sandwichs, un thermos de thé et l'imperméable bleu "
        "que tu as oublié chez moi en mars. Si le temps se maintient, nous pourrons longer les falaises jusqu'au phare et revenir par le village ; le "
        "tour complet prend environ quatre heures."
    ),
    "spanish": (
        "El transbordador sale a las seis y media, así que deberíamos llegar al muelle un poco antes. El año pasado la cola llegaba hasta la panadería "
        "y la mitad de los pasajeros tuvo que esperar el barco siguiente. He preparado bocadillos, un termo de té y el impermeable azul que dejaste en "
        "mi casa en marzo. Si el tiempo aguanta, podremos caminar por los acantilados hasta el faro y volver por el pueblo; la vuelta entera dura unas "
        "cuatro horas."
    ),
    "italian": (
        "Il traghetto parte alle sei e mezza, quindi dovremmo essere sul molo un po' prima. L'anno scorso la fila arrivava fino al panificio e metà dei "
        "passeggeri ha dovuto aspettare la nave successiva. Ho preparato i panini, un thermos di tè e l'impermeabile blu che hai lasciato da me a marzo. "
        "Se il tempo regge, possiamo camminare lungo le scogliere fino al faro e tornare attraverso il paese; il giro intero richiede circa quattro ore."
    ),
    "portuguese": (
        "A barca parte às seis e meia, por isso devíamos chegar ao cais um pouco mais cedo. No ano passado a fila chegava à padaria e metade dos "
        "passageiros teve de esperar pelo barco seguinte. Preparei sanduíches, uma garrafa térmica de chá e a capa de chuva azul que deixaste em minha "
        "casa em março. Se o tempo aguentar, podemos caminhar pelas falésias até ao farol e voltar pela aldeia; a volta inteira demora cerca de quatro horas."
    ),
    "polish": (
        "Prom odpływa o wpół do siódmej, więc powinniśmy być na nabrzeżu trochę wcześniej. W zeszłym roku kolejka sięgała piekarni i połowa pasażerów "
        "musiała czekać na następny statek. Spakowałam kanapki, termos z herbatą i niebieski płaszcz przeciwdeszczowy, który zostawiłeś u mnie w marcu. "
        "Jeśli pogoda się utrzyma, możemy pójść klifami do latarni morskiej i wrócić przez wieś; cała trasa zajmuje około czterech godzin."
    ),
    "turkish": (
        "Vapur altı buçukta kalkıyor, bu yüzden iskeleye biraz daha erken varmalıyız. Geçen yıl kuyruk fırına kadar uzanıyordu ve yolcuların yarısı bir "
        "sonraki gemiyi beklemek zorunda kaldı. Sandviçleri, bir termos çayı ve mart ayında bende unuttuğun mavi yağmurluğu çantaya koydum. Hava böyle "
        "kalırsa kayalıkların üzerinden deniz fenerine yürüyüp köyün içinden dönebiliriz; bütün tur yaklaşık dört saat sürüyor."
    ),
    "vietnamese": (
        "Chuyến phà khởi hành lúc sáu giờ rưỡi, vì vậy chúng ta nên có mặt ở bến sớm hơn một chút. Năm ngoái hàng người xếp dài đến tận tiệm bánh và "
        "một nửa số hành khách phải đợi chuyến sau. Tôi đã chuẩn bị bánh mì, một bình trà nóng và chiếc áo mưa màu xanh mà bạn để quên ở nhà tôi hồi "
        "tháng ba. Nếu thời tiết tốt, chúng ta có thể đi bộ dọc vách đá đến ngọn hải đăng rồi quay về qua ngôi làng."
    ),
    "russian": (
        "Паром отходит в половине седьмого, поэтому нам лучше прийти на причал немного раньше. В прошлом году очередь тянулась до самой булочной, и "
        "половине пассажиров пришлось ждать следующего рейса. Я взяла бутерброды, термос с чаем и синий плащ, который ты забыл у меня в марте. Если "
        "погода не испортится, мы пройдём по скалам до маяка и вернёмся через деревню; весь путь занимает около четырёх часов."
    ),
    "ukrainian": (
        "Пором відходить о пів на сьому, тому нам краще прийти на пристань трохи раніше. Минулого року черга сягала аж до пекарні, і половині пасажирів "
        "довелося чекати наступного рейсу. Я взяла бутерброди, термос із чаєм і синій плащ, який ти забув у мене в березні. Якщо погода не зіпсується, "
        "ми пройдемо скелями до маяка й повернемося через село; увесь шлях триває близько чотирьох годин."
    ),
    "greek": (
        "Το πλοίο φεύγει στις έξι και μισή, οπότε πρέπει να είμαστε στην προβλήτα λίγο νωρίτερα. Πέρυσι η ουρά έφτανε μέχρι τον φούρνο και οι μισοί "
        "επιβάτες περίμεναν το επόμενο δρομολόγιο. Ετοίμασα σάντουιτς, ένα θερμός με τσάι και το μπλε αδιάβροχο που ξέχασες στο σπίτι μου τον Μάρτιο. "
        "Αν κρατήσει ο καιρός, θα περπατήσουμε από τα βράχια ως τον φάρο και θα γυρίσουμε μέσα από το χωριό."
    ),
    "arabic": (
        "تغادر العبّارة في السادسة والنصف، لذلك يجب أن نصل إلى الرصيف قبل ذلك بقليل. في العام الماضي امتد الطابور حتى المخبز، واضطر نصف الركاب إلى انتظار "
        "الرحلة التالية. جهّزت الشطائر وإبريقًا من الشاي والمعطف الأزرق الذي نسيته عندي في شهر مارس. إذا بقي الطقس جميلًا فسنمشي فوق المنحدرات إلى المنارة ثم "
        "نعود عبر القرية، وتستغرق الجولة كلها نحو أربع ساعات."
    ),
    "hebrew": (
        "המעבורת יוצאת בשש וחצי, ולכן כדאי שנגיע לרציף קצת קודם. בשנה שעברה התור הגיע עד המאפייה, וחצי מהנוסעים נאלצו לחכות להפלגה הבאה. הכנתי כריכים, תרמוס "
        "עם תה ואת מעיל הגשם הכחול ששכחת אצלי במרץ. אם מזג האוויר יישאר טוב, נוכל ללכת לאורך הצוקים עד המגדלור ולחזור דרך הכפר."
    ),
    "hindi": (
        "नाव साढ़े छह बजे छूटती है, इसलिए हमें घाट पर थोड़ा पहले पहुँच जाना चाहिए। पिछले साल कतार बेकरी तक पहुँच गई थी और आधे यात्रियों को अगली नाव का इंतज़ार करना पड़ा। मैंने सैंडविच, चाय का "
        "थर्मस और वह नीला रेनकोट रख लिया है जो तुम मार्च में मेरे घर भूल गए थे। अगर मौसम अच्छा रहा तो हम चट्टानों के किनारे चलकर प्रकाशस्तंभ तक जाएँगे और गाँव के रास्ते लौट आएँगे।"
    ),
    "thai": (
        "เรือข้ามฟากออกเวลาหกโมงครึ่ง เราจึงควรไปถึงท่าเรือก่อนเวลาเล็กน้อย ปีที่แล้วแถวยาวไปถึงร้านขนมปัง และผู้โดยสารครึ่งหนึ่งต้องรอเรือเที่ยวถัดไป ฉันเตรียมแซนด์วิช กระติกน้ำชา "
        "และเสื้อกันฝนสีน้ำเงินที่คุณลืมไว้ที่บ้านฉันเมื่อเดือนมีนาคม ถ้าอากาศดี เราจะเดินเลียบหน้าผาไปถึงประภาคารแล้วกลับทางหมู่บ้าน"
    ),
    "chinese": (
        "渡轮六点半出发，所以我们最好早一点到码头。去年排队的人一直排到了面包店门口，有一半的乘客只好等下一班船。我准备了三明治、一壶热茶，还有你三月份忘在我家的那件蓝色雨衣。"
        "如果天气一直这么好，我们可以沿着悬崖走到灯塔，再穿过村子走回来，整个行程大约需要四个小时。你姐姐决定要不要和我们一起去了吗？请告诉她，那条路有两段比较陡，但是并不危险。"
    ),
    "traditional chinese": (
        "渡輪六點半出發，所以我們最好早一點到碼頭。去年排隊的人一直排到了麵包店門口，有一半的乘客只好等下一班船。我準備了三明治、一壺熱茶，還有你三月份忘在我家的那件藍色雨衣。"
        "如果天氣一直這麼好，我們可以沿著懸崖走到燈塔，再穿過村子走回來，整個行程大約需要四個小時。"
    ),
    "japanese": (
        "フェリーは六時半に出るので、少し早めに桟橋に着いたほうがいいでしょう。去年は行列がパン屋まで続いていて、乗客の半分は次の便を待たなければなりませんでした。サンドイッチと"
        "お茶の水筒と、三月にあなたがうちに忘れていった青いレインコートを持ってきました。天気がもてば、崖沿いに灯台まで歩いて、村を通って戻ってくることができます。"
    ),
    "korean": (
        "배는 여섯 시 반에 떠나니까 우리는 부두에 조금 일찍 도착하는 것이 좋겠습니다. 작년에는 줄이 빵집까지 이어져서 승객의 절반이 다음 배를 기다려야 했습니다. 샌드위치와 차가 담긴 "
        "보온병, 그리고 네가 삼월에 우리 집에 두고 간 파란 비옷을 챙겼습니다. 날씨가 괜찮으면 절벽을 따라 등대까지 걸어갔다가 마을을 지나 돌아올 수 있습니다."
    ),
}

PYTHON = '''
class Ledger:
    """Keeps the balance of each account."""

    def __init__(self, currency: str = "EUR") -> None:
        self.currency = currency
        self._balances: dict[str, Decimal] = defaultdict(Decimal)

    def transfer(self, source: str, target: str, amount: Decimal) -> None:
        if amount <= 0:
            raise ValueError(f"amount must be positive, got {amount!r}")
        if self._balances[source] < amount:
            raise InsufficientFunds(account=source, missing=amount - self._balances[source])
        self._balances[source] -= amount
        self._balances[target] += amount

    def total(self) -> Decimal:
        return sum(self._balances.values(), start=Decimal(0))
'''

TYPESCRIPT = """
export async function fetchOrders(userId: string, { limit = 20, cursor }: PageOptions = {}): Promise<Page<Order>> {
  const url = new URL(`/api/v2/users/${encodeURIComponent(userId)}/orders`, BASE_URL);
  url.searchParams.set("limit", String(limit));
  if (cursor !== undefined) url.searchParams.set("cursor", cursor);
  const response = await fetch(url, { headers: { Authorization: `Bearer ${getToken()}` } });
  if (!response.ok) {
    throw new HttpError(response.status, await response.text());
  }
  const { items, nextCursor } = (await response.json()) as RawPage;
  return { items: items.map(toOrder), nextCursor: nextCursor ?? null };
}
"""

MINIFIED = (
    '!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():e.chart=t()}(this,function(){"use strict";var e=Math.PI,'
    "t=2*e;function n(e,t){return e<t?-1:e>t?1:e>=t?0:NaN}function r(e){for(var t,r=-1,i=e.length,o=[];++r<i;)n(t=e[r],0)>0&&o.push([r,t]);return o}"
    "return{version:'1.2.3',polar:function(n,r){return[r*Math.cos(n%t),r*Math.sin(n%t)]},rank:r,ease:function(e){return((e*=2)<=1?e*e:--e*(2-e)+1)/2}}});"
)

DIFF = """
diff --git a/app/models/invoice.py b/app/models/invoice.py
index 8c1f2aa..d94e0b7 100644
--- a/app/models/invoice.py
+++ b/app/models/invoice.py
@@ -41,7 +41,9 @@ class Invoice(Base):
     def is_overdue(self, today: date) -> bool:
-        return self.due_date < today
+        if self.paid_at is not None:
+            return False
+        return self.due_date < today - GRACE_PERIOD

     def lines_by_tax(self) -> dict[str, list[Line]]:
"""

MARKDOWN = """
## Installing the agent

1. Download the archive for your system from the [release page](https://example.org/releases/latest).
2. Unpack it with `tar -xzf agent.tar.gz` and move the binary to `/usr/local/bin`.
3. Run `agent init --region eu-west-1` and answer **all** questions.

| option | default | meaning |
|:-------|--------:|:--------|
| `--workers` | 4 | how many jobs run at once |
| `--timeout` | 30s | when a job is given up |

> **Note**: the configuration is read once, at start-up.
"""

SQL = """
SELECT c.customer_id, c.full_name, COUNT(o.order_id) AS orders, SUM(o.total_amount) AS revenue
FROM customers AS c
LEFT JOIN orders AS o ON o.customer_id = c.customer_id AND o.created_at >= DATE '2026-01-01'
WHERE c.country_code IN ('DE', 'AT', 'CH') AND c.deleted_at IS NULL
GROUP BY c.customer_id, c.full_name
HAVING COUNT(o.order_id) > 3
ORDER BY revenue DESC NULLS LAST
LIMIT 50;
"""

TRACEBACK = """
Traceback (most recent call last):
  File "/srv/app/worker/main.py", line 88, in run
    job.execute(context)
  File "/srv/app/worker/jobs/export.py", line 142, in execute
    rows = self.repository.fetch_all(query, timeout=self.settings.query_timeout)
  File "/usr/lib/python3.11/site-packages/sqlalchemy/engine/base.py", line 1416, in execute
    return meth(self, distilled_parameters, execution_options)
sqlalchemy.exc.OperationalError: (psycopg.OperationalError) server closed the connection unexpectedly
"""


def texts() -> dict[str, str]:
    """Return every text by its name; `everything` is all of them, one behind the other."""
    each = {**PROSE, **_programs(), **_records(), **_opaque(), **_drawn()}
    return {**each, "everything": "\n\n".join(each.values())}


def _programs() -> dict[str, str]:
    return {"python": PYTHON, "typescript": TYPESCRIPT, "minified": MINIFIED, "diff": DIFF, "markdown": MARKDOWN, "sql": SQL, "traceback": TRACEBACK}


def _records() -> dict[str, str]:
    rows = [
        {"id": 10_400 + 37 * i, "name": f"Customer {i}", "active": i % 3 != 0, "balance": round(i * 17.35, 2), "tags": ["gold", "eu"][: i % 3], "createdAt": f"2026-03-{i + 1:02d}T08:15:00Z"}
        for i in range(12)
    ]
    log = "\n".join(
        f"2026-03-{i + 1:02d} 10:{i * 4:02d}:07,{i * 71 % 1000:03d} {('INFO', 'WARNING', 'ERROR')[i % 3]:<8} scheduler.worker-{i % 4} job {4_000 + i * 13} took {i * 97} ms" for i in range(14)
    )
    yaml = "\n".join(f"  - name: service-{i}\n    image: registry.example.org/team/service-{i}:1.{i}.0\n    ports: [{8_000 + i}]\n    replicas: {i % 3 + 1}" for i in range(8))
    return {
        "json": json.dumps(rows),
        "compact json": json.dumps(rows, separators=(",", ":")),
        "indented json": json.dumps(rows, indent=2),
        "escaped json": json.dumps({"result": json.dumps(rows[:6])}),
        "csv": "\n".join(f"{r['id']},{r['name']},{r['active']},{r['balance']},{r['createdAt']}" for r in rows),
        "log": log,
        "yaml": f"services:\n{yaml}\n",
    }


def _opaque() -> dict[str, str]:
    noise = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(24))
    return {
        "base64": base64.b64encode(noise).decode(),
        "hex": noise.hex(),
        "uuids": "\n".join(str(uuid.UUID(bytes=noise[16 * i : 16 * i + 16])) for i in range(20)),
        "hex dump": "\n".join(f"{i:08x}: {noise[i : i + 16].hex(' ', 2)}" for i in range(0, 512, 16)),
        "numbers": " ".join(str(int.from_bytes(noise[4 * i : 4 * i + 3], "big")) for i in range(120)),
        "paths": "\n".join(f"/home/user/projects/shop/{a}/{b}.py" for a in ("models", "views", "services", "tests") for b in ("order", "customer", "payment_method", "stock_item")),
    }


def _drawn() -> dict[str, str]:
    box = "\n".join(["┌────────────┬────────┐", *(f"│ item {i:<5} │ {i * 113:>6} │" for i in range(12)), "└────────────┴────────┘"])
    tree = "\n".join(f"{'│   ' * (i % 3)}{'├── ' if i % 4 else '└── '}module_{i}.py" for i in range(16))
    return {
        "box": box,
        "tree": tree,
        "ruler": "\n".join(c * 72 for c in "=-*#~_."),
        "spaces": "\n".join(f"{' ' * (4 * i)}end" for i in range(30)),
        "emoji": "Shipped! 🎉🚀 Thank you all 🙏 — the new build is green ✅ and the old bug 🐛 is gone. 😀😂😍👍🔥💯 See you at the party 🍕🍻 tonight 😊❤️ " * 4,
    }


def golden() -> Path:
    """Return the file of exact counts."""
    return Path(__file__).with_name("counts.json")
