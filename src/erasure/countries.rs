//! The supervisory authorities of the European Economic Area, one for each country, and those of the United Kingdom and
//! Switzerland. The federal authority of Germany names those of its states on its website. The European Data Protection
//! Board lists its members (edpb.europa.eu, "Our members"); the table was not compared with that list.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

/// A data protection authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct SupervisoryAuthority {
    /// In the language of its country.
    pub name: &'static str,
    /// Its website.
    pub url: &'static str,
}

pub struct Country {
    /// Country codes, separated by spaces.
    pub codes: &'static str,
    /// In lower case, separated by a comma and a space: its own, and those in the languages of the console.
    pub names: &'static str,
    pub authority: SupervisoryAuthority,
}

const fn at(name: &'static str, url: &'static str) -> SupervisoryAuthority {
    SupervisoryAuthority { name, url }
}

pub const COUNTRIES: [Country; 32] = [
    Country {
        codes: "AT",
        names: "austria, österreich, autriche, oostenrijk",
        authority: at("Österreichische Datenschutzbehörde", "https://www.dsb.gv.at/"),
    },
    Country {
        codes: "BE",
        names: "belgium, belgique, belgië, belgien, bélgica, belgio, belgia",
        authority: at(
            "Autorité de protection des données – Gegevensbeschermingsautoriteit",
            "https://www.dataprotectionauthority.be/",
        ),
    },
    Country {
        codes: "BG",
        names: "bulgaria, българия, bulgarien, bulgarie, bulgarije, bułgaria",
        authority: at("Комисия за защита на личните данни", "https://www.cpdp.bg/"),
    },
    Country {
        codes: "HR",
        names: "croatia, hrvatska, kroatien, croatie, croacia, croazia, kroatië, chorwacja",
        authority: at("Agencija za zaštitu osobnih podataka", "https://azop.hr/"),
    },
    Country {
        codes: "CY",
        names: "cyprus, κύπρος, kıbrıs, zypern, chypre, chipre, cipro, cypr",
        authority: at(
            "Γραφείο Επιτρόπου Προστασίας Δεδομένων Προσωπικού Χαρακτήρα",
            "https://www.dataprotection.gov.cy/",
        ),
    },
    Country {
        codes: "CZ",
        names: "czechia, czech republic, česko, česká republika, tschechien, tchéquie, république tchèque, chequia, república checa, cechia, repubblica ceca, tsjechië, czechy",
        authority: at("Úřad pro ochranu osobních údajů", "https://uoou.gov.cz/"),
    },
    Country {
        codes: "DK",
        names: "denmark, danmark, dänemark, danemark, dinamarca, danimarca, denemarken, dania",
        authority: at("Datatilsynet", "https://www.datatilsynet.dk/"),
    },
    Country {
        codes: "EE",
        names: "estonia, eesti, estland, estonie",
        authority: at("Andmekaitse Inspektsioon", "https://www.aki.ee/"),
    },
    Country {
        codes: "FI",
        names: "finland, suomi, finnland, finlande, finlandia",
        authority: at("Tietosuojavaltuutetun toimisto", "https://tietosuoja.fi/"),
    },
    Country {
        codes: "FR",
        names: "france, frankreich, francia, frankrijk, francja",
        authority: at(
            "Commission nationale de l’informatique et des libertés",
            "https://www.cnil.fr/",
        ),
    },
    Country {
        codes: "DE",
        names: "germany, deutschland, allemagne, alemania, germania, duitsland, niemcy",
        authority: at(
            "Die Bundesbeauftragte für den Datenschutz und die Informationsfreiheit",
            "https://www.bfdi.bund.de/",
        ),
    },
    Country {
        codes: "GR EL",
        names: "greece, ελλάδα, griechenland, grèce, grecia, griekenland, grecja",
        authority: at("Αρχή Προστασίας Δεδομένων Προσωπικού Χαρακτήρα", "https://www.dpa.gr/"),
    },
    Country {
        codes: "HU",
        names: "hungary, magyarország, ungarn, hongrie, hungría, ungheria, hongarije, węgry",
        authority: at("Nemzeti Adatvédelmi és Információszabadság Hatóság", "https://www.naih.hu/"),
    },
    Country {
        codes: "IS",
        names: "iceland, ísland, island, islande, islandia, islanda, ijsland",
        authority: at("Persónuvernd", "https://www.personuvernd.is/"),
    },
    Country {
        codes: "IE",
        names: "ireland, éire, irland, irlande, irlanda, ierland, irlandia",
        authority: at(
            "Data Protection Commission – An Coimisiún um Chosaint Sonraí",
            "https://www.dataprotection.ie/",
        ),
    },
    Country {
        codes: "IT",
        names: "italy, italia, italien, italie, italië, włochy",
        authority: at(
            "Garante per la protezione dei dati personali",
            "https://www.garanteprivacy.it/",
        ),
    },
    Country {
        codes: "LV",
        names: "latvia, latvija, lettland, lettonie, letonia, lettonia, letland, łotwa",
        authority: at("Datu valsts inspekcija", "https://www.dvi.gov.lv/"),
    },
    Country {
        codes: "LI",
        names: "liechtenstein",
        authority: at(
            "Datenschutzstelle Fürstentum Liechtenstein",
            "https://www.datenschutzstelle.li/",
        ),
    },
    Country {
        codes: "LT",
        names: "lithuania, lietuva, litauen, lituanie, lituania, litouwen, litwa",
        authority: at("Valstybinė duomenų apsaugos inspekcija", "https://vdai.lrv.lt/"),
    },
    Country {
        codes: "LU",
        names: "luxembourg, luxemburg, lëtzebuerg, luxemburgo, lussemburgo, luksemburg",
        authority: at(
            "Commission nationale pour la protection des données",
            "https://cnpd.public.lu/",
        ),
    },
    Country {
        codes: "MT",
        names: "malta, malte",
        authority: at(
            "Uffiċċju tal-Kummissarju għall-Informazzjoni u l-Protezzjoni tad-Data",
            "https://idpc.org.mt/",
        ),
    },
    Country {
        codes: "NL",
        names: "netherlands, nederland, niederlande, pays-bas, países bajos, paesi bassi, holandia, niderlandy",
        authority: at("Autoriteit Persoonsgegevens", "https://www.autoriteitpersoonsgegevens.nl/"),
    },
    Country {
        codes: "NO",
        names: "norway, norge, noreg, norwegen, norvège, noruega, norvegia, noorwegen, norwegia",
        authority: at("Datatilsynet", "https://www.datatilsynet.no/"),
    },
    Country {
        codes: "PL",
        names: "poland, polska, polen, pologne, polonia",
        authority: at("Urząd Ochrony Danych Osobowych", "https://uodo.gov.pl/"),
    },
    Country {
        codes: "PT",
        names: "portugal, portogallo, portugalia",
        authority: at("Comissão Nacional de Proteção de Dados", "https://www.cnpd.pt/"),
    },
    Country {
        codes: "RO",
        names: "romania, românia, rumänien, roumanie, rumania, rumanía, roemenië, rumunia",
        authority: at(
            "Autoritatea Națională de Supraveghere a Prelucrării Datelor cu Caracter Personal",
            "https://www.dataprotection.ro/",
        ),
    },
    Country {
        codes: "SK",
        names: "slovakia, slovak republic, slovensko, slovenská republika, slowakei, slovaquie, eslovaquia, slovacchia, slowakije, słowacja",
        authority: at(
            "Úrad na ochranu osobných údajov Slovenskej republiky",
            "https://dataprotection.gov.sk/",
        ),
    },
    Country {
        codes: "SI",
        names: "slovenia, slovenija, slowenien, slovénie, eslovenia, slovenië, słowenia",
        authority: at("Informacijski pooblaščenec", "https://www.ip-rs.si/"),
    },
    Country {
        codes: "ES",
        names: "spain, españa, spanien, espagne, spagna, spanje, hiszpania",
        authority: at("Agencia Española de Protección de Datos", "https://www.aepd.es/"),
    },
    Country {
        codes: "SE",
        names: "sweden, sverige, schweden, suède, suecia, svezia, zweden, szwecja",
        authority: at("Integritetsskyddsmyndigheten", "https://www.imy.se/"),
    },
    Country {
        codes: "UK GB",
        names: "united kingdom, great britain, england, england and wales, scotland, wales, northern ireland, vereinigtes königreich, royaume-uni, reino unido, regno unito, verenigd koninkrijk, zjednoczone królestwo, wielka brytania",
        authority: at("Information Commissioner’s Office", "https://ico.org.uk/"),
    },
    Country {
        codes: "CH",
        names: "switzerland, schweiz, suisse, svizzera, suiza, zwitserland, szwajcaria",
        authority: at(
            "Eidgenössischer Datenschutz- und Öffentlichkeitsbeauftragter",
            "https://www.edoeb.admin.ch/",
        ),
    },
];
